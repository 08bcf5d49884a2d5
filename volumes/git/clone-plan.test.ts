import { describe, expect, it, test } from 'vitest';
import { cloneCommands, cloneEnvironment, parseRepository, planClone } from './clone-plan.ts';

const REPOSITORY = 'https://git.example.com/team/app.git';

describe('parseRepository', () => {
  test.each([
    [REPOSITORY, REPOSITORY, 'app'],
    ['http://git.example.com/app', 'http://git.example.com/app', 'app'],
    ['https://git.example.com/app/.git', 'https://git.example.com/app/.git', 'app'],
    ['https://git.example.com/app.git/', 'https://git.example.com/app.git/', 'app'],
    ['git://git.example.com/app', 'git://git.example.com/app', 'app'],
    ['ssh://git@git.example.com:22/app.git', 'ssh://git@git.example.com:22/app.git', 'app'],
    ['git@git.example.com:team/app.git', 'git@git.example.com:team/app.git', 'app'],
    ['git.example.com:app', 'git.example.com:app', 'app'],
    ['https://bob@git.example.com/app', 'https://bob@git.example.com/app', 'app'],
  ])('takes %s', (text, url, name) => {
    expect(parseRepository(text)).toEqual({ url, name });
  });

  it('sends credentials in a header and removes them from the URL', () => {
    expect(parseRepository('https://bob:p%40ss@git.example.com:8443/app.git')).toEqual({
      url: 'https://git.example.com:8443/app.git',
      name: 'app',
      header: {
        url: 'https://git.example.com:8443/',
        value: `Authorization: Basic ${Buffer.from('bob:p@ss').toString('base64')}`,
      },
    });
  });

  it.each([
    '',
    '/srv/repo',
    './repo',
    '../repo',
    'repo',
    'file:///srv/repo',
    'FILE:///srv/repo',
    'HTTPS://git.example.com/app',
    'ext::sh -c id',
    'ext::sh',
    'fd::17',
    'transport::https://git.example.com/app',
    'ftp://git.example.com/app',
    '--upload-pack=id',
    '-u',
    'ssh://-oProxyCommand=id/app',
    '-oProxyCommand=id:app',
    'http:///app',
    'https://git.example.com/a\nb',
    'ssh://bob:secret@git.example.com/app',
    '/srv:repo',
  ])('rejects %j', (text) => {
    expect(() => parseRepository(text)).toThrow('gitRepo.repository');
  });

  it('never shows a password', () => {
    for (const text of ['ftp://bob:secret@h/app', 'ssh://bob:secret@h/app', 'https://bob:secret@/app']) {
      expect(() => parseRepository(text)).toThrow(expect.not.stringContaining('secret'));
    }
  });
});

describe('planClone', () => {
  test.each([
    [undefined, 'app'],
    ['', 'app'],
    ['.', '.'],
    ['./', '.'],
    ['src', 'src'],
    ['src/app/', 'src/app'],
  ])('directory %j means %s', (directory, folder) => {
    const spec = { repository: REPOSITORY, ...(directory === undefined ? {} : { directory }) };
    expect(planClone(spec).folder).toBe(folder);
  });

  it.each(['..', 'a/../b', '/etc', '-x', 'a/-x', '.git', 'a/.GIT/b', 'a\u0000b', 'a\\b'])(
    'rejects directory %j',
    (directory) => {
      expect(() => planClone({ repository: REPOSITORY, directory })).toThrow('gitRepo.directory');
    },
  );

  it.each(['-f', '--orphan=x', 'a b', 'a\nb', 'x'.repeat(5000)])('rejects revision %j', (revision) => {
    expect(() => planClone({ repository: REPOSITORY, revision })).toThrow('gitRepo.revision');
  });

  it('requires a directory if the URL contains no name', () => {
    for (const repository of ['https://git.example.com/', 'https://git.example.com/..git']) {
      expect(() => planClone({ repository })).toThrow('gitRepo.directory must be set');
    }
  });
});

describe('cloneCommands', () => {
  const argumentsAfter = (command: readonly string[] | undefined, argument: string): readonly string[] =>
    command?.slice(command.indexOf(argument) + 1) ?? [];

  it('clones, and no more without a revision', () => {
    const [clone, ...others] = cloneCommands(planClone({ repository: REPOSITORY }), '/w');
    expect(others).toEqual([]);
    expect(argumentsAfter(clone, '--')).toEqual([REPOSITORY, '/w/app']);
    expect(argumentsAfter(clone, 'clone')).toContain('--no-recurse-submodules');
  });

  it('checks out the revision only as a revision', () => {
    const plan = planClone({ repository: REPOSITORY, directory: '.', revision: 'v1' });
    const [clone, checkout, reset] = cloneCommands(plan, '/w');
    expect(argumentsAfter(clone, '--')).toEqual([REPOSITORY, '/w']);
    expect(argumentsAfter(checkout, 'checkout').slice(-2)).toEqual(['v1', '--']);
    expect(argumentsAfter(reset, '-C')[0]).toBe('/w');
  });

  it('disables everything that runs programs in each command', () => {
    for (const command of cloneCommands(planClone({ repository: REPOSITORY, revision: 'v1' }), '/w')) {
      for (const setting of [
        'core.hooksPath=/dev/null',
        'core.fsmonitor=false',
        'core.symlinks=false',
        'protocol.file.allow=never',
        'protocol.ext.allow=never',
        'filter.lfs.smudge=',
      ]) {
        expect(command[command.indexOf(setting) - 1]).toBe('-c');
      }
    }
  });
});

describe('cloneEnvironment', () => {
  it('has credentials only for its server, and neither prompts nor reads the node’s settings', () => {
    const plain = cloneEnvironment(parseRepository(REPOSITORY));
    expect(plain).toMatchObject({ GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0', HOME: '/nonexistent' });
    expect(plain).not.toHaveProperty('GIT_CONFIG_COUNT');
    const withLogin = cloneEnvironment(parseRepository('https://a:b@git.example.com/app'));
    expect(withLogin).toMatchObject({ GIT_CONFIG_KEY_0: 'http.https://git.example.com/.extraHeader' });
  });
});
