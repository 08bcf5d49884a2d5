import { describe, expect, test } from 'vitest';
import { startError } from './start-error.ts';

const where = { bindAddress: '0.0.0.0', securePort: 6443, dataDir: '/d' };
const failure = (code: string, syscall: string): Error =>
  Object.assign(new Error(`${code}: it went wrong`), { code, syscall });

describe('the reason why the server failed to start', () => {
  test.each([
    ['EADDRINUSE', 'listen', '--secure-port: another program listens on 0.0.0.0:6443'],
    ['EADDRNOTAVAIL', 'listen', '--bind-address: 0.0.0.0 is not an address of this machine'],
    [
      'EACCES',
      'listen',
      '--secure-port: not permitted to listen on 0.0.0.0:6443; ports below 1024 require root',
    ],
    ['EEXIST', 'mkdir', '--data-dir: /d is not a directory'],
    ['EACCES', 'mkdir', '--data-dir: /d is not writable: EACCES: it went wrong'],
    ['EROFS', 'open', '--data-dir: /d is on a read-only file system'],
  ])('%s of %s', (code, syscall, text) => {
    expect(startError(failure(code, syscall), where)).toBe(text);
  });

  test('other failures are reported with their causes, nothing twice', () => {
    const cause = new Error('the disk is gone');
    expect(startError(new Error('no store', { cause }), where)).toBe('no store: the disk is gone');
    expect(startError(new Error('no store: the disk is gone', { cause }), where)).toBe(
      'no store: the disk is gone',
    );
  });
});
