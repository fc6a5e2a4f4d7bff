"""Public packages as git projects with their tools installed: what `benches/proofs` tries the library on.

A package is downloaded once, by version, and compared with its SHA-256. PyPI's source distributions come by `pip`, npm's
packages by `npm pack`, crates by `cargo fetch`.
"""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile

PYTHON = '/usr/bin/python3'
PYTEST = 'pytest==8.3.4 pluggy==1.5.0 iniconfig==2.0.0 packaging==24.2'.split()
TAPE = 'tape@5.9.0 side-channel@1.1.0 iconv-lite@0.5.1 safer-buffer@2.1.2 es-value-fixtures mock-property has-symbols for-each'.split()
# Versions of what those need.
TAPE_BEFORE = '2025-06-01'
IGNORED = {'pypi': '.venv/\n__pycache__/\n.pytest_cache/\n*.egg-info/\n', 'npm': 'node_modules/\n', 'crate': 'target/\n'}


class Trouble(Exception):
    """what keeps a case from being tried"""


def run(argv, cwd, env=None, check=True, seconds=600):
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, errors='replace', timeout=seconds)
    if check and done.returncode:
        raise Trouble(f'{" ".join(argv)}: {done.returncode}: {(done.stdout + done.stderr)[-400:]}')
    return done


def is_test(path):
    """whether a file belongs to the tests of a package"""
    parts = path.split('/')
    return any(part in ('test', 'tests', 'testing') for part in parts[:-1]) or parts[-1].startswith(('test_', 'conftest'))


class Cache:
    """downloads, by name and version"""
    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def archive(self, kind, name, version):
        known = re.sub('[-_.]+', '-', f'{kind}-{name}-{version}'.lower()) + '.tar.gz'
        path = os.path.join(self.folder, known)
        if not os.path.exists(path):
            arrived = os.path.join(self.folder, 'arriving')
            shutil.rmtree(arrived, ignore_errors=True)
            os.makedirs(arrived)
            os.rename(getattr(self, kind)(name, version, arrived), path)
        return path

    def pypi(self, name, version, folder):
        pip = [sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps', '--no-binary', ':all:', '--dest', folder]
        run([*pip, f'{name}=={version}'], folder)
        return glob.glob(f'{folder}/*.tar.gz')[0]

    def npm(self, name, version, folder):
        run(['npm', 'pack', '--silent', f'{name}@{version}', '--pack-destination', folder], folder)
        return glob.glob(f'{folder}/*.tgz')[0]

    def crate(self, name, version, folder):
        os.makedirs(f'{folder}/src')
        open(f'{folder}/src/lib.rs', 'w').close()
        with open(f'{folder}/Cargo.toml', 'w') as file:
            file.write(f'[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n{name} = "={version}"\n')
        run(['cargo', 'fetch', '--quiet'], folder)
        home = os.environ.get('CARGO_HOME', os.path.expanduser('~/.cargo'))
        return shutil.copy(glob.glob(f'{home}/registry/cache/*/{name}-{version}.crate')[0], folder)

    def unpack(self, kind, name, version, digest, folder):
        """the files of a version in `folder`, which is not there yet; the digest that was seen"""
        path = self.archive(kind, name, version)
        with open(path, 'rb') as file:
            seen = hashlib.sha256(file.read()).hexdigest()
        if digest and not seen.startswith(digest):
            raise Trouble(f'{name} {version} is another file than expected: sha256 {seen}')
        with tarfile.open(path) as archive:
            archive.extractall(folder + '.unpacked', filter='data')
        os.rename(os.path.join(folder + '.unpacked', os.listdir(folder + '.unpacked')[0]), folder)
        shutil.rmtree(folder + '.unpacked')
        return seen


class Project:
    """a package in a git repository, with its tools in an ignored folder"""
    def __init__(self, kind, folder, env):
        self.kind, self.folder, self.env = kind, folder, env

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def git(self, *argv, check=True):
        return run(['git', *argv], self.folder, self.env, check).stdout

    def read(self, path):
        with open(self.path(path), encoding='utf-8', newline='') as file:
            return file.read()

    def write(self, path, text):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        with open(self.path(path), 'w', encoding='utf-8', newline='') as file:
            file.write(text)

    def files(self):
        return [path for path in self.git('ls-files', '-co', '--exclude-standard').splitlines() if not os.path.islink(self.path(path))]

    def begin(self):
        """a repository without a commit"""
        for path, folders, names in os.walk(self.folder):
            for name in [name for name in folders if name in ('__pycache__', 'node_modules')]:
                shutil.rmtree(os.path.join(path, name))
        self.git('init', '--quiet', '--initial-branch=main')
        self.write('.gitignore', IGNORED[self.kind])

    def commit(self, message):
        self.git('add', '--all')
        self.git('commit', '--quiet', '--message', message)

    def take_files(self, other, wanted):
        """the files of another project that are `wanted`, in the place of the own ones"""
        for path in filter(wanted, self.files()):
            os.remove(self.path(path))
        for path in filter(wanted, other.files()):
            os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
            shutil.copy(other.path(path), self.path(path))

    def install(self, tools):
        getattr(self, f'install_{self.kind}')(tools)

    def install_pypi(self, tools):
        run([PYTHON, '-m', 'venv', '--without-pip', '.venv'], self.folder)
        run([sys.executable, '-m', 'pip', '--python', '.venv/bin/python', 'install', '--quiet', '--no-deps', *PYTEST, *tools], self.folder)
        # As an editable install does it.
        site = glob.glob(self.path('.venv/lib/python*/site-packages'))[0]
        with open(os.path.join(site, 'project.pth'), 'w') as file:
            file.write(self.path('src' if os.path.isdir(self.path('src')) else '') + '\n')

    def install_npm(self, tools):
        npm = ['npm', 'install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts', '--no-save', '--no-package-lock', '--before', TAPE_BEFORE]
        # Of the package itself only its sources are tested.
        manifest = self.read('package.json')
        self.write('package.json', '{}')
        run([*npm, *TAPE, *tools], self.folder)
        self.write('package.json', manifest)

    def install_crate(self, tools):
        run(['cargo', 'generate-lockfile', '--quiet'], self.folder)
        run(['cargo', 'fetch', '--quiet', '--locked'], self.folder)
