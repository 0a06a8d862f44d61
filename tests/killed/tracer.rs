//! Runs a victim under ptrace: instruction by instruction, or from one system call to the
//! next, and kills it there. Every victim belongs to the thread that started it.

use std::io::Error;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::ptr::null_mut;

use libc::{c_int, c_long, c_uint, pid_t};

/// Where x86-64 keeps the address of the next instruction, among the registers of a victim.
const PLACE: u64 = 16 * 8;

/// A process that is stopped before the call that it is to make.
pub struct Victim {
    pid: pid_t,
    reaped: bool,
}

/// What came of letting it go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Went {
    /// By one step.
    On,
    /// To the stop behind its call.
    ToTheEnd,
}

impl Victim {
    /// Starts a program, with addresses that are the same each time, and waits until it
    /// stops itself.
    pub fn start(program: &Path, arguments: &[&str]) -> Result<Victim, String> {
        let command = &mut Command::new(program);
        command
            .args(arguments)
            .env("LD_BIND_NOW", "1")
            .stdin(Stdio::null());
        // SAFETY: one system call, which changes this process alone.
        unsafe {
            command.pre_exec(|| match libc::personality(libc::ADDR_NO_RANDOMIZE as _) {
                -1 => Err(Error::last_os_error()),
                _ => Ok(()),
            });
        }
        let child = command
            .spawn()
            .map_err(|e| format!("{}: {e}", program.display()))?;
        let mut victim = Victim {
            pid: child.id() as pid_t,
            reaped: false,
        };
        let status = victim.wait()?;
        if libc::WIFSTOPPED(status) && libc::WSTOPSIG(status) == libc::SIGSTOP {
            return Ok(victim);
        }
        victim.reaped = true;
        Err(format!(
            "the victim did not come to its first stop (status {status:#x}); if it says that \
             ptrace is not permitted, permit it: this test can do nothing without"
        ))
    }

    /// One instruction.
    pub fn step(&mut self) -> Result<Went, String> {
        self.go_on(libc::PTRACE_SINGLESTEP)
    }

    /// So many instructions, or up to the end of its call.
    pub fn step_so_often(&mut self, instructions: usize) -> Result<(), String> {
        for _ in 0..instructions {
            if self.step()? == Went::ToTheEnd {
                break;
            }
        }
        Ok(())
    }

    /// Where it stands: the address of the instruction that comes next. 0 where that is
    /// not known how to find out.
    pub fn place(&self) -> Result<u64, String> {
        if !cfg!(target_arch = "x86_64") {
            return Ok(0);
        }
        self.ask(libc::PTRACE_PEEKUSER, PLACE)
            .map(|place| place as u64)
    }

    /// To the first time that it comes to a place, which has to be on its way.
    pub fn run_to(&mut self, place: u64) -> Result<(), String> {
        const BREAKPOINT: c_long = 0xcc;
        let code = self.ask(libc::PTRACE_PEEKTEXT, place)?;
        self.tell(libc::PTRACE_POKETEXT, place, code & !0xff | BREAKPOINT)?;
        if self.go_on(libc::PTRACE_CONT)? != Went::On || self.place()? != place + 1 {
            return Err("the victim did not come by the same way as the one before".to_owned());
        }
        self.tell(libc::PTRACE_POKETEXT, place, code)?;
        self.tell(libc::PTRACE_POKEUSER, PLACE, place as c_long)
    }

    /// To the next entry to a system call, or return from one.
    pub fn until_system_call(&mut self) -> Result<Went, String> {
        self.go_on(libc::PTRACE_SYSCALL)
    }

    /// To the end of its call.
    pub fn finish(&mut self) -> Result<(), String> {
        while self.go_on(libc::PTRACE_CONT)? != Went::ToTheEnd {}
        Ok(())
    }

    /// Lets it run to its exit, from the stop behind its call; says with what.
    pub fn exit(mut self) -> Result<i32, String> {
        self.request(libc::PTRACE_CONT, 0)?;
        let status = self.wait()?;
        self.reaped = true;
        match libc::WIFEXITED(status) {
            true => Ok(libc::WEXITSTATUS(status)),
            false => Err(format!("the victim ended with status {status:#x}")),
        }
    }

    /// Lets it run, without waiting for anything.
    pub fn run(&self) -> Result<(), String> {
        self.request(libc::PTRACE_CONT, 0)
    }

    /// Leaves it, stopped as by SIGSTOP.
    pub fn leave_stopped(&self) -> Result<(), String> {
        self.request(libc::PTRACE_DETACH, c_long::from(libc::SIGSTOP))
    }

    /// Lets it go on that was left stopped, until it ends; says with what. It stops itself
    /// once more, behind its call.
    pub fn let_go(mut self) -> Result<i32, String> {
        loop {
            // SAFETY: it has not been reaped, so the id is its own.
            unsafe { libc::kill(self.pid, libc::SIGCONT) };
            let mut status = 0;
            // SAFETY: `status` is there to be written.
            let pid = unsafe { libc::waitpid(self.pid, &raw mut status, libc::WNOHANG) };
            if pid == self.pid {
                self.reaped = true;
                return Ok(libc::WEXITSTATUS(status));
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    /// Kills it where it stands. It then is a zombie, or not even that.
    pub fn kill(&mut self, reap: bool) -> Result<(), String> {
        // SAFETY: it has not been reaped, so the id is its own.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        loop {
            let options = libc::WEXITED | if reap { 0 } else { libc::WNOWAIT };
            // SAFETY: all zero is a value of it, and it is there to be written.
            let done = unsafe {
                let mut info: libc::siginfo_t = std::mem::zeroed();
                libc::waitid(libc::P_PID, self.pid as c_uint, &raw mut info, options)
            };
            match Error::last_os_error() {
                _ if done == 0 => break,
                e if e.raw_os_error() == Some(libc::EINTR) => {}
                e => return Err(format!("waiting for the end of a victim: {e}")),
            }
        }
        self.reaped = reap;
        Ok(())
    }

    fn go_on(&mut self, how: c_uint) -> Result<Went, String> {
        self.request(how, 0)?;
        let status = self.wait()?;
        if !libc::WIFSTOPPED(status) {
            self.reaped = true;
            return Err(format!(
                "the victim ended in its call, with status {status:#x}"
            ));
        }
        match libc::WSTOPSIG(status) {
            libc::SIGTRAP => Ok(Went::On),
            libc::SIGSTOP => Ok(Went::ToTheEnd),
            signal => Err(format!("the victim got signal {signal} in its call")),
        }
    }

    /// Reads a word of the victim's.
    fn ask(&self, what: c_uint, address: u64) -> Result<c_long, String> {
        // SAFETY: nothing is written; that a word can be -1 is known from `errno`.
        unsafe {
            *libc::__errno_location() = 0;
            let word = libc::ptrace(what, self.pid, address, 0);
            match *libc::__errno_location() {
                0 => Ok(word),
                _ => Err(format!("ptrace: {}", Error::last_os_error())),
            }
        }
    }

    /// Writes a word of the victim's.
    fn tell(&self, what: c_uint, address: u64, word: c_long) -> Result<(), String> {
        // SAFETY: what is written is memory of the victim.
        let done = unsafe { libc::ptrace(what, self.pid, address, word) };
        match done {
            -1 => Err(format!("ptrace: {}", Error::last_os_error())),
            _ => Ok(()),
        }
    }

    fn request(&self, what: c_uint, signal: c_long) -> Result<(), String> {
        // SAFETY: none of the requests writes to memory of this process.
        let done = unsafe { libc::ptrace(what, self.pid, null_mut::<u8>(), signal) };
        match done {
            -1 => Err(format!("ptrace: {}", Error::last_os_error())),
            _ => Ok(()),
        }
    }

    fn wait(&self) -> Result<c_int, String> {
        let mut status = 0;
        loop {
            // SAFETY: `status` is there to be written.
            let pid = unsafe { libc::waitpid(self.pid, &raw mut status, 0) };
            match Error::last_os_error() {
                _ if pid == self.pid => return Ok(status),
                e if e.raw_os_error() == Some(libc::EINTR) => {}
                e => return Err(format!("waiting for a victim: {e}")),
            }
        }
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = self.kill(true);
        }
    }
}
