import { expect, test } from 'vitest';
import { ConfigError } from '../config/parse.ts';
import { parseInstallArguments } from './install-command.ts';
import { parseStoreCommand } from './store-command.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);

test('a backup in a directory is named by the time', () => {
  expect(
    parseStoreCommand('backup', ['--directory', '/b', '--retain', '7', '--data-dir', '/d'], NOW),
  ).toEqual({
    file: '/b/control-plane-lite-20260102T030405Z.backup',
    dir: '/d/store',
    force: false,
    keysDir: '/d/pki',
    retain: 7,
  });
});

test.each([
  ['backup', [], 'usage: control-plane-lite backup FILE|--directory D'],
  ['backup', ['f', '--directory', '/b'], 'usage: control-plane-lite backup'],
  ['backup', ['f', '--retain', '3'], '--retain requires --directory'],
  ['backup', ['--directory', '/b', '--retain', '0'], '--retain: "0" is not a number of backups'],
  ['backup', ['f', '--force'], '--force only applies to restore'],
  ['restore', ['--directory', '/b'], '--directory only applies to backup'],
] as const)('%s %j is rejected', (command, argv, message) => {
  const parse = (): unknown => parseStoreCommand(command, argv, NOW);
  expect(parse).toThrow(ConfigError);
  expect(parse).toThrow(message);
});

test('an unknown flag of install is named', () => {
  expect(() => parseInstallArguments('install', ['--purge'])).toThrow(/install: .*--purge/);
  expect(parseInstallArguments('install', ['--no-start', '--root', '/r'])).toEqual({
    root: '/r',
    start: false,
    purge: false,
  });
});
