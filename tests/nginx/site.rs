//! What nginx is to be: a configuration, of which a test states only its own part, and the
//! files beside it.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::{env, fs};

use crate::made::{make, root};
use crate::running::{Ran, run};
use crate::server::{Directory, Server};

/// The module, which is built first.
pub fn module() -> &'static Path {
    static MODULE: OnceLock<PathBuf> = OnceLock::new();
    MODULE.get_or_init(|| {
        make(&["nginx"]);
        root().join("build/nginx/ngx_http_rl_module.so")
    })
}

/// The nginx that is installed.
pub fn nginx() -> Command {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places = env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let found = places.find_map(|place| Some(place.join("nginx")).filter(|file| file.is_file()));
    Command::new(found.expect("no nginx in PATH or /usr/sbin"))
}

#[derive(Clone)]
pub struct Site {
    pub workers: usize,
    pub daemon: bool,
    module: bool,
    whole: Option<String>,
    log: String,
    listen: String,
    main: String,
    http: String,
    server: String,
    files: Vec<(String, Vec<u8>)>,
}

impl Site {
    /// An nginx without the module, with one worker and one server that answers nothing yet.
    pub fn plain() -> Self {
        Self {
            workers: 1,
            daemon: false,
            module: false,
            whole: None,
            log: "$pid $status $request_uri".to_owned(),
            listen: String::new(),
            main: String::new(),
            http: String::new(),
            server: String::new(),
            files: Vec::new(),
        }
    }

    /// The same with the module.
    pub fn new() -> Self {
        Self {
            module: true,
            ..Self::plain()
        }
    }

    /// A configuration as it stands, but for `PORT`, which is another each time.
    pub fn whole(text: &str) -> Self {
        Self {
            whole: Some(text.to_owned()),
            ..Self::plain()
        }
    }

    /// With the module, and a zone `shop` of 1 MiB that has these rules.
    pub fn with_rules(rules: &str) -> Self {
        Self::new()
            .http("rl_zone shop 1m shop.rules;")
            .file("shop.rules", rules)
    }

    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Has the master leave the process that started it: only then it does binary upgrades.
    pub fn daemon(mut self) -> Self {
        self.daemon = true;
        self
    }

    /// What each line of the access log says, with variables; there are no `'` in it.
    pub fn log(mut self, format: &str) -> Self {
        format.clone_into(&mut self.log);
        self
    }

    /// Parameters of `listen`. With `reuseport` the kernel spreads connections over workers.
    pub fn listen(mut self, parameters: &str) -> Self {
        parameters.clone_into(&mut self.listen);
        self
    }

    /// Adds lines outside of `http`.
    pub fn main(mut self, lines: &str) -> Self {
        self.main += &format!("{lines}\n");
        self
    }

    /// Adds lines to `http`.
    pub fn http(mut self, lines: &str) -> Self {
        self.http += &format!("    {lines}\n");
        self
    }

    /// Adds lines to the one `server`.
    pub fn server(mut self, lines: &str) -> Self {
        self.server += &format!("        {lines}\n");
        self
    }

    /// Adds or replaces a file beside nginx.conf; the document root is there, too.
    pub fn file(mut self, name: &str, text: impl AsRef<[u8]>) -> Self {
        self.files.retain(|(other, _)| other != name);
        self.files.push((name.to_owned(), text.as_ref().to_vec()));
        self
    }

    pub fn start(self) -> Server {
        Server::start(self)
    }

    /// `nginx -t`: what it says and with which code it ends.
    pub fn test(&self) -> Ran {
        let directory = Directory::new();
        self.write(directory.path(), free_port());
        let mut command = nginx();
        command.arg("-t").arg("-p").arg(directory.path());
        run(command.args(["-c", "nginx.conf", "-e", "stderr"]), b"")
    }

    /// Writes the configuration and the files into a directory.
    pub fn write(&self, directory: &Path, port: u16) {
        for (name, text) in &self.files {
            fs::write(directory.join(name), text).unwrap();
        }
        fs::write(directory.join("nginx.conf"), self.text(port)).unwrap();
    }

    fn text(&self, port: u16) -> String {
        if let Some(whole) = &self.whole {
            return whole.replace("PORT", &port.to_string());
        }
        let load = match self.module {
            true => format!("load_module {};", module().display()),
            false => String::new(),
        };
        let user = match rustix::process::geteuid().is_root() {
            true => "user www-data;", // as operators have it
            false => "",
        };
        let daemon = if self.daemon { "on" } else { "off" };
        let Self {
            workers,
            log,
            listen,
            main,
            http,
            server,
            ..
        } = self;
        format!(
            "\
{load}
{user}
daemon {daemon};
worker_processes {workers};
pid nginx.pid;
error_log error.log info;
{main}
events {{
}}
http {{
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    keepalive_requests 1000000;
    log_format own '{log}';
    access_log access.log own;
{http}
    server {{
        listen 127.0.0.1:{port} {listen};
        root .;
{server}
    }}
}}
"
        )
    }
}

/// A port that nobody has, and that no other test of this process was given.
pub fn free_port() -> u16 {
    static GIVEN: Mutex<Vec<u16>> = Mutex::new(Vec::new());
    let mut given = GIVEN.lock().unwrap();
    loop {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        if !given.contains(&port) {
            given.push(port);
            return port;
        }
    }
}
