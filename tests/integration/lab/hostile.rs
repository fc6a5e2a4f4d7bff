//! Commands that try to do harm: none has an effect outside, and none leaves anything behind.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{LabUser, contents_of, has_landlock, has_namespaces, left_by_labs, project, top_of};
use crate::sandbox::{Sandbox, need};

/// What every secret of the machine contains.
const SECRET: &str = "hunter2";
/// What a command prints when it did what it must not.
const HARM: &str = "HARM";
/// Runs of each user in namespaces: a hundred in all where there are two.
const RUNS: usize = 50;

/// Scripts, with `$OTHER` for a folder beside the project, `$PORT` for a server on this machine, `$SOCKET` and `$ABSTRACT`
/// for sockets of it, and `$VICTIM` for a process of the same user.
const SCRIPTS: [&str; 50] = [
    // Writing outside.
    "echo x > \"$OTHER/new\" && echo HARM",
    "echo x >> \"$OTHER/kept\"; ln -s \"$OTHER\" link; echo x >> link/kept; rm -rf \"$OTHER\"",
    "rm -rf \"$HOME\" /tmp/* \"$PWD\"/../* /var/tmp/* /run/* /dev/shm/* /home /root /usr /etc 2>/dev/null",
    "rm -rf -- * .[a-z]* ; mkdir node_modules; echo x > node_modules/new",
    "find / -xdev -type f -writable -not -path '/proc/*' 2>/dev/null | while read -r f; do echo x >> \"$f\"; done",
    "echo x >> node_modules/dep/index.js; mv node_modules/dep node_modules/moved; rm -rf build; chmod -R 0 .",
    "echo x > /dev/shm/verify-run-harm; echo x > /tmp/verify-run-harm; echo x > /var/tmp/verify-run-harm",
    "echo x > /usr/verify-run-harm && echo HARM; echo x > /etc/verify-run-harm && echo HARM",
    "ln /etc/passwd x && echo HARM; ln \"$OTHER/kept\" y && echo HARM",
    "git config core.fsmonitor 'touch harm'; printf '#!/bin/sh\\ntouch harm\\n' > .git/hooks/pre-commit; git gc",
    "for f in core_pattern modprobe poweroff_cmd hostname; do echo x > /proc/sys/kernel/$f && echo HARM; done",
    "echo h > /proc/sysrq-trigger && echo HARM; echo 1 > /proc/sys/vm/drop_caches && echo HARM",
    "echo 1 > /sys/kernel/mm/ksm/run && echo HARM; echo 0 > /sys/devices/system/cpu/cpu1/online && echo HARM",
    // Reading what is secret.
    "cat \"$HOME\"/.ssh/* \"$HOME\"/.aws/credentials \"$HOME\"/.netrc \"$HOME\"/.config/gh/hosts.yml",
    "cat \"$OTHER\"/.ssh/id_rsa \"$OTHER\"/secret ../*/secret ../other/.ssh/id_rsa",
    "find / -xdev -name 'id_rsa*' -o -name .netrc -o -name credentials 2>/dev/null | xargs cat",
    "env; set; cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/*/cmdline | tr '\\0' '\\n'",
    "grep -c '\\$' /etc/shadow | grep -qv '^0' && echo HARM; head -c1 /etc/ssh/ssh_host_*_key | grep . && echo HARM",
    "cat .env .env.local ../work/.env; git config --get remote.origin.url; cat .git/config",
    "for n in 1 2 self; do for p in root cwd; do p=/proc/$n/$p; cat $p$OTHER/secret $p/../../secret; done; done",
    "cat /dev/mem /dev/kmem /dev/kmsg /dev/vda /dev/sda /dev/nvme0n1 2>/dev/null | head -c1 | grep . && echo HARM",
    "mknod disk b 254 0 && head -c1 disk && echo HARM; mknod null c 1 3 && echo HARM; dmesg && echo HARM",
    "cat /proc/kcore /proc/keys 2>/dev/null | head -c1 | grep . && echo HARM; true",
    // Sockets.
    "curl -s -m 2 http://127.0.0.1:$PORT && echo HARM; curl -s -m 2 http://1.1.1.1 && echo HARM",
    "/usr/bin/python3 -c 'import socket,os; socket.create_connection((\"127.0.0.1\",int(os.environ[\"PORT\"])),2); print(\"HARM\")'",
    "/usr/bin/python3 -c 'import socket,os; s=socket.socket(socket.AF_UNIX); s.connect(os.environ[\"SOCKET\"]); print(\"HARM\")'",
    "/usr/bin/python3 -c 'import socket,os; s=socket.socket(socket.AF_UNIX); s.connect(\"\\0\"+os.environ[\"ABSTRACT\"]); print(\"HARM\")'",
    "/usr/bin/python3 -c 'import socket,os; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.sendto(b\"x\",(\"127.0.0.1\",int(os.environ[\"PORT\"])))'",
    "/usr/bin/python3 -c 'import socket; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.sendto(b\"x\",(\"8.8.8.8\",53)); print(\"HARM\")'",
    "/usr/bin/python3 -c 'import socket; socket.getaddrinfo(\"example.com\",80); print(\"HARM\")'",
    "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_INET,socket.SOCK_RAW,1); print(\"HARM\")'",
    "/usr/bin/python3 -c 'import socket; socket.socket(40,socket.SOCK_STREAM); print(\"HARM\")'",
    "for s in /run/docker.sock /var/run/docker.sock /run/user/*/bus /run/systemd/private; do test -e $s && echo HARM; done",
    "/usr/bin/python3 -c 'import ctypes; r=ctypes.CDLL(None).syscall(425,8,0); print(\"HARM\" if r>=0 else \"\")'",
    // Surviving.
    "setsid sleep 600 & setsid sh -c '(sleep 600 &)' & nohup sleep 600 & sleep 600 & exit 0",
    "/usr/bin/python3 -c 'import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0:\n  for n in range(3): os.close(n)\n  time.sleep(600)'",
    "trap '' TERM INT HUP; (trap '' TERM INT HUP; sleep 600) & kill -STOP $!; kill -STOP $$ & exit 0",
    "systemd-run --user touch \"$OTHER/new\"; at now < /dev/null; crontab -l; batch < /dev/null",
    "kill -9 -1; kill -9 1; kill -9 $PPID; exit 0",
    "kill -9 $VICTIM && echo HARM; kill -STOP $VICTIM && echo HARM",
    // Tracing.
    "strace -p 1 -o /dev/null 2>/dev/null && echo HARM; strace -p $VICTIM -o /dev/null 2>/dev/null && echo HARM",
    "/usr/bin/python3 -c 'import ctypes,os\nl=ctypes.CDLL(None)\nfor p in (1,int(os.environ[\"VICTIM\"])):\n print(\"HARM\" if l.ptrace(16,p,0,0)==0 else \"\")'",
    "cat /proc/1/maps /proc/1/mem /proc/1/stack 2>/dev/null | grep . && echo HARM; for f in /proc/1/fd/*; do readlink $f; cat $f; done | grep . && echo HARM",
    // Mounts and namespaces.
    "mount -t tmpfs none /mnt && echo HARM; mount --bind /usr /tmp && echo HARM; umount /usr && echo HARM; umount -l / && echo HARM",
    "mount -o remount,rw / && echo HARM; mount -o remount,rw /usr && echo HARM; chroot / true && echo HARM",
    "unshare -rm true && echo HARM; unshare -U true && echo HARM; nsenter -t 1 -m true && echo HARM",
    // Other users.
    "cp /bin/sh sh && chmod u+s sh && ./sh -p -c 'test $(id -u) = 4711 && echo HARM'; su -c true && echo HARM; sudo -n true && echo HARM",
    "/usr/bin/python3 -c 'import os\nfor f in (lambda: os.setuid(4711), lambda: os.setgroups([4711]), lambda: os.chown(\".\",4711,4711)):\n try:\n  f(); print(\"HARM\")\n except (OSError,PermissionError): pass'",
    "/usr/bin/python3 -c 'import ctypes\nl=ctypes.CDLL(None,use_errno=True)\nfor c in (175,313,246,167,169):\n print(\"HARM\" if l.syscall(c,0,0,0,0)==0 else \"\")'",
    "date -s 2001-01-01 && echo HARM; hostname harm && echo HARM; swapoff -a && echo HARM; chrt -f 9 true && echo HARM; nice -n -5 true; exit 0",
];

/// A machine around a project: secrets, servers, a process.
struct Machine {
    sandbox: Sandbox,
    victim: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    sockets: [UnixListener; 2],
    abstract_name: String,
    socket: PathBuf,
    shared_memory: Vec<PathBuf>,
}

impl Machine {
    fn new(user: LabUser) -> Self {
        let sandbox = project();
        let top = top_of(&sandbox);
        for (file, text) in [
            ("home/.ssh/id_rsa", "hunter2-key"),
            ("home/.aws/credentials", "hunter2-aws"),
            ("home/.netrc", "hunter2-netrc"),
            ("home/.config/gh/hosts.yml", "hunter2-gh"),
            ("other/.ssh/id_rsa", "hunter2-other"),
            ("other/secret", "hunter2-secret"),
            ("other/kept", "kept"),
        ] {
            let path = top.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let socket = top.join("other/server.sock");
        let abstract_name = format!("verify-run-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).expect("a name");
        let sockets = [
            UnixListener::bind(&socket).expect("a socket"),
            UnixListener::bind_addr(&address).expect("an abstract socket"),
        ];
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).expect("a mode");
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let udp = UdpSocket::bind(tcp.local_addr().expect("an address")).expect("the same port");
        sockets.iter().for_each(|socket| socket.set_nonblocking(true).expect("no waiting"));
        tcp.set_nonblocking(true).expect("no waiting");
        udp.set_read_timeout(Some(Duration::from_millis(1))).expect("hardly any waiting");
        let mut victim = Command::new("sleep");
        victim.arg("600").stdin(Stdio::null()).stdout(Stdio::null());
        if user == LabUser::Nobody {
            victim.uid(65_534).gid(65_534);
        }
        let victim = victim.spawn().expect("a process");
        let shared_memory = names_in_shared_memory();
        Machine { sandbox, victim, tcp, udp, sockets, abstract_name, socket, shared_memory }
    }

    /// Runs a script in the lab; what it printed on both streams.
    fn attack(&self, user: LabUser, options: &[&str], script: &str) -> String {
        let other = top_of(&self.sandbox).join("other");
        let port = self.tcp.local_addr().expect("an address").port().to_string();
        let known = [
            ("OTHER", other.display().to_string()),
            ("PORT", port),
            ("SOCKET", self.socket.display().to_string()),
            ("ABSTRACT", self.abstract_name.clone()),
            ("VICTIM", self.victim.id().to_string()),
        ];
        let set: String = known.iter().map(|(name, value)| format!("export {name}='{value}'; ")).collect();
        let options = [options, &["--seconds", "10"]].concat();
        let attack = user.isolate(&self.sandbox, &options, &format!("{set}{script}"));
        let outcome = attack.env("GITHUB_TOKEN", "hunter2-token").outcome();
        format!("{}{}", String::from_utf8_lossy(&outcome.stdout), String::from_utf8_lossy(&outcome.stderr))
    }

    /// What differs from a machine on which nothing happened.
    fn find_effects(&mut self, before: &BTreeMap<PathBuf, String>) -> Vec<String> {
        let mut found = Vec::new();
        let after = contents_of(&top_of(&self.sandbox));
        let differs = |path: &&PathBuf| before.get(*path) != after.get(*path);
        found.extend(
            before.keys().chain(after.keys()).filter(differs).map(|path| format!("changed: {}", path.display())),
        );
        if self.victim.try_wait().expect("a state").is_some() {
            found.push("the victim is dead".to_owned());
        }
        let state = fs::read_to_string(format!("/proc/{}/stat", self.victim.id())).unwrap_or_default();
        if state.contains(") T ") {
            found.push("the victim is stopped".to_owned());
        }
        let is_quiet = |error: std::io::Error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
        let heard = [
            ("tcp", self.tcp.accept().map(drop).is_err_and(is_quiet)),
            ("udp", self.udp.recv(&mut [0; 8]).map(drop).is_err_and(is_quiet)),
            ("socket", self.sockets[0].accept().map(drop).is_err_and(is_quiet)),
            ("abstract socket", self.sockets[1].accept().map(drop).is_err_and(is_quiet)),
        ];
        found.extend(heard.iter().filter(|(_, is_quiet)| !is_quiet).map(|(name, _)| format!("reached: {name}")));
        for folder in ["/tmp", "/var/tmp", "/dev/shm", "/usr", "/etc"] {
            if fs::symlink_metadata(format!("{folder}/verify-run-harm")).is_ok() {
                found.push(format!("written: {folder}"));
            }
        }
        let shared: Vec<_> =
            names_in_shared_memory().into_iter().filter(|name| !self.shared_memory.contains(name)).collect();
        found.extend(
            shared.iter().filter(|name| is_ours(name)).map(|name| format!("shared memory: {}", name.display())),
        );
        found.extend(self.sandbox.processes().iter().map(|process| format!("left: {process:?}")));
        found.extend(left_by_labs(&self.sandbox).iter().map(|path| format!("left: {}", path.display())));
        found.extend(mounts_below(&top_of(&self.sandbox)).into_iter().map(|mount| format!("mounted: {mount}")));
        found
    }

    /// Runs scripts, each on the same machine.
    fn withstands(mut self, user: LabUser, options: &[&str], scripts: &[&str]) {
        // The owner of everything, and the remembered level, are part of what was before.
        let first = self.attack(user, options, "cat src/app.txt");
        assert!(first.contains("the app"), "{first}");
        let before = contents_of(&top_of(&self.sandbox));
        for script in scripts {
            let printed = self.attack(user, options, script);
            assert!(!printed.contains(SECRET), "{script}\nreads a secret: {printed}");
            assert!(!printed.lines().any(|line| line.trim() == HARM), "{script}\nsucceeds: {printed}");
            assert!(!printed.contains("cannot isolate"), "{script}\nwas not run: {printed}");
            let effects = self.find_effects(&before);
            assert!(effects.is_empty(), "{user:?}: {script}\nhas effects: {effects:#?}\nit printed: {printed}");
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

fn names_in_shared_memory() -> Vec<PathBuf> {
    fs::read_dir("/dev/shm").into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Whether something in shared memory may come from a run: other tests have their own names there.
fn is_ours(path: &std::path::Path) -> bool {
    !path.to_string_lossy().contains("verify-run-test-")
}

fn mounts_below(folder: &std::path::Path) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts.lines().filter(|mount| mount.contains(&folder.display().to_string())).map(str::to_owned).collect()
}

fn withstands_all(user: LabUser) {
    if !has_namespaces() || !user.is_here() || need("curl").is_none() {
        return;
    }
    assert_eq!(SCRIPTS.len(), RUNS);
    Machine::new(user).withstands(user, &[], &SCRIPTS);
}

#[test]
fn hostile_commands_have_no_effect_outside() {
    withstands_all(LabUser::Own);
}

#[test]
fn hostile_commands_of_a_user_without_rights_have_no_effect_outside() {
    withstands_all(LabUser::Nobody);
}

/// Scripts that Landlock alone must withstand. Modes and times of the user's own files it does not protect.
fn withstands_with_landlock(user: LabUser) {
    if !has_landlock() || !user.is_here() {
        return;
    }
    // Files of `/proc` and of the system are there as outside, and namespaces are no way around Landlock.
    let is_other = |script: &str| ["test -e $s", "/proc/keys", "unshare"].iter().any(|words| script.contains(words));
    let is_hard = |script: &&&str| !is_other(script);
    let scripts: Vec<&str> = SCRIPTS.iter().filter(is_hard).copied().collect();
    Machine::new(user).withstands(user, &["--level", "landlock"], &scripts);
}

#[test]
fn hostile_commands_have_no_effect_outside_of_landlock() {
    withstands_with_landlock(LabUser::Own);
}

#[test]
fn hostile_commands_of_a_user_without_rights_have_no_effect_outside_of_landlock() {
    withstands_with_landlock(LabUser::Nobody);
}
