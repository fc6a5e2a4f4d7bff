"""The cases of `benches/proofs`."""
import dataclasses

PYTEST = ('.venv/bin/python', '-m', 'pytest', '-q')
TAPE = ('node_modules/.bin/tape', 'test/*.js')
CARGO = ('cargo', 'test', '--offline', '--locked')


@dataclasses.dataclass(frozen=True)
class Case:
    kind: str
    name: str
    version: str
    check: tuple
    # The release that has the fix; else a bug is seeded.
    fixed: str = ''
    seed: int = 0
    tools: tuple = ()
    # By version: the starts of the archives' SHA-256.
    digests: dict = dataclasses.field(default_factory=dict, compare=False)

    def title(self):
        return f'{self.name} {self.version} to {self.fixed}' if self.fixed else f'{self.name} {self.version} seed {self.seed}'


def release(kind, name, version, fixed, check, **more):
    return Case(kind, name, version, check, fixed, digests=DIGESTS.get(name, {}), **more)


def seeded(kind, name, version, check, seed, **more):
    return Case(kind, name, version, check, seed=seed, digests=DIGESTS.get(name, {}), **more)


# The first half of the SHA-256 of each archive.
DIGESTS = {
    'cachetools': {
        '5.3.1': 'dce83f2d9b4e1f732a8cd44af8e8fab2',
    },
    'heck': {
        '0.4.1': '95505c38b4572b2d910cecb0281560f5',
    },
    'minimist': {
        '1.2.5': 'a1800ce4d39356e96497bd09a41fad00',
        '1.2.6': '49c9124665fc1900e589be610b8dc69d',
        '1.2.7': '29e8a4fda29e4fb148355ba5070c1f04',
        '1.2.8': '350a76c115b393c19d24654834261e5d',
    },
    'mistune': {
        '3.0.2': 'fc7f93ded930c92394ef2cb6f04a8aab',
        '3.1.0': 'dbcac2f78292b9dc066cd03b7a3a26b6',
        '3.1.1': 'e0740d635f515119f7d1feb6f9b192ee',
    },
    'more-itertools': {
        '10.1.0': '626c369fa0eb37bac0291bce8259b332',
    },
    'qs': {
        '6.10.1': '48ff71ae029bdc028e6b26955edf93d8',
        '6.10.2': '02094e21dbd238fd54ade4e287b683c5',
        '6.10.3': 'a870fe3cc87d4bdbedc5dd3fb83ead68',
        '6.10.4': '30d07a26aa587bd52dace44ea963d6cc',
        '6.11.0': '01d91ce44dbb4259dd304f96bc62be5f',
        '6.11.1': 'a9a0943914ab7aca9cbe3cb66c5aeb0c',
        '6.9.4': '101109c57d1b7d057fe2a44134111a53',
        '6.9.6': '3ccd9b9aeed8fb20b4af0cd5bfa657b2',
    },
    'semver': {
        '1.0.23': '61697e0a1c7e512e84a621326239844a',
    },
    'shell-words': {
        '1.1.0': '24188a676b6ae68c3b2cb3a01be17fbf',
    },
    'sqlparse': {
        '0.4.2': '0c00730c74263a94e5a9919ade150dfc',
        '0.4.3': '69ca804846bb114d2ec380e4360a8a34',
        '0.4.4': 'd446183e84b8349fa3061f0fe7f06ca9',
        '0.5.1': 'bb6b4df465655ef332548e24f08e205a',
        '0.5.2': '9e37b35e16d1cc652a2545f0997c1deb',
    },
    'strsim': {
        '0.11.1': '7da8b5736845d9f2fcb837ea5d9e2628',
    },
    'tomlkit': {
        '0.11.6': '71b952e5721688937fb02cf9d354dbcf',
        '0.11.7': 'f392ef70ad87a672f02519f99967d28a',
        '0.12.1': '38e1ff8edb991273ec9f6181244a6a39',
        '0.12.2': 'df32fab589a81f0d7dc525a4267b6d7a',
        '0.12.4': '7ca1cfc12232806517a8515047ba66a1',
        '0.12.5': 'eef34fba39834d4d6b73c9ba7f3e4d1c',
    },
    'xmltodict': {
        '0.13.0': '341595a488e3e01a85a9d8911d8912fd',
        '0.14.0': '8b39b25b564fd466be566c9e8a869cc4',
        '0.14.1': '338c8431e4fc554517651972d62f0695',
        '0.14.2': '201e7c28bb210e374999d1dde6382923',
    },
}
TOMLKIT = (*PYTEST, 'tests', '--ignore', 'tests/test_toml_spec_tests.py', '--ignore', 'tests/test_toml_tests.py')
CASES = [
    release('npm', 'minimist', '1.2.5', '1.2.6', TAPE),
    release('npm', 'minimist', '1.2.7', '1.2.8', TAPE),
    release('npm', 'qs', '6.9.4', '6.9.6', TAPE),
    release('npm', 'qs', '6.10.1', '6.10.2', TAPE),
    release('npm', 'qs', '6.10.2', '6.10.3', TAPE),
    release('npm', 'qs', '6.10.3', '6.10.4', TAPE),
    release('npm', 'qs', '6.11.0', '6.11.1', TAPE),
    release('pypi', 'mistune', '3.1.0', '3.1.1', PYTEST),
    release('pypi', 'tomlkit', '0.11.6', '0.11.7', TOMLKIT, tools=('PyYAML==6.0.2',)),
    release('pypi', 'tomlkit', '0.12.1', '0.12.2', TOMLKIT, tools=('PyYAML==6.0.2',)),
    release('pypi', 'tomlkit', '0.12.4', '0.12.5', TOMLKIT, tools=('PyYAML==6.0.2',)),
    release('pypi', 'sqlparse', '0.4.2', '0.4.3', PYTEST),
    release('pypi', 'sqlparse', '0.4.3', '0.4.4', PYTEST),
    release('pypi', 'sqlparse', '0.5.1', '0.5.2', PYTEST),
    release('pypi', 'xmltodict', '0.13.0', '0.14.0', PYTEST),
    release('pypi', 'xmltodict', '0.14.1', '0.14.2', PYTEST),
    seeded('pypi', 'cachetools', '5.3.1', PYTEST, 1),
    seeded('pypi', 'cachetools', '5.3.1', PYTEST, 2),
    seeded('pypi', 'xmltodict', '0.13.0', PYTEST, 1),
    seeded('pypi', 'mistune', '3.0.2', PYTEST, 1),
    seeded('pypi', 'more-itertools', '10.1.0', (*PYTEST, 'tests/test_recipes.py'), 1),
    seeded('npm', 'minimist', '1.2.8', TAPE, 1),
    seeded('npm', 'minimist', '1.2.8', TAPE, 2),
    seeded('npm', 'minimist', '1.2.8', TAPE, 3),
    seeded('npm', 'qs', '6.10.4', TAPE, 1),
    seeded('npm', 'qs', '6.10.4', TAPE, 2),
    seeded('crate', 'strsim', '0.11.1', CARGO, 1),
    seeded('crate', 'strsim', '0.11.1', CARGO, 2),
    seeded('crate', 'semver', '1.0.23', CARGO, 1),
    seeded('crate', 'shell-words', '1.1.0', CARGO, 1),
    seeded('crate', 'shell-words', '1.1.0', CARGO, 2),
    seeded('crate', 'heck', '0.4.1', CARGO, 1),
]
