import { expect, test } from 'vitest';
import { COMMANDS, commandHelp } from './help.ts';
import { versionLine } from './version.ts';

test.each(Object.keys(COMMANDS))('the help of %s is of the command alone', (name) => {
  const help = commandHelp(name) ?? '';
  expect(help).toMatch(new RegExp(`^control-plane-lite ${name}`));
  expect(help).not.toContain('--secure-port');
  expect(help.split('\n').length).toBeLessThan(20);
});

test('token create has all of its flags', () => {
  for (const flag of ['--ttl', '--groups', '--description', '--data-dir']) {
    expect(commandHelp('token')).toContain(flag);
  }
});

test('an unknown command has no help', () => {
  for (const name of ['', '--data-dir', 'toString', 'nothing']) expect(commandHelp(name)).toBeUndefined();
});

test('the version names program, commit, API and runtime', () => {
  expect(versionLine()).toMatch(
    /^control-plane-lite \d+\.\d+\.\d+ \(commit (?:[0-9a-f]{12}|unknown)\), Kubernetes API v1\.24\.\d+, Node v\d+/,
  );
});
