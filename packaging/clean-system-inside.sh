# What clean-system.sh runs inside the new system, in the directory with the packages.
set -eu
cd "$(dirname "$0")"

dpkg --install ./*.deb

cc -std=c99 -Wall -Wextra -Wpedantic -Werror hello.c -lrl -o hello
./hello | diff expected -
cc hello.c $(pkg-config --cflags --libs librl) -o shared
./shared | diff expected -
cc -static hello.c $(pkg-config --static --cflags --libs librl) -o static
./static | diff expected -

python3 - <<'END'
import librl

with librl.Limiter("default = token-bucket,1,1h") as limiter:
    assert limiter.allow("alice") and not limiter.allow("alice")
END

echo 'default = token-bucket,5,1h' > /etc/nginx/limits.rules
cat > /etc/nginx/conf.d/limits.conf <<'END'
rl_zone shop 1m limits.rules;
rl_limit shop user=$remote_addr api=$uri;
END
nginx -t
rm /etc/nginx/conf.d/limits.conf /etc/nginx/limits.rules

dpkg --purge libnginx-mod-http-rl python3-librl librl-dev librl0
nginx -t
left=$(find / -xdev \( -name '*librl*' -o -name '*http*rl*' -o -name 'rl*.h' -o -name 'rl_*.3*' \) \
    -not -path "$PWD*" -not -path '/proc/*')
[ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
echo "installed, used and purged"
