import { expect, test } from 'vitest';
import { SocketInUseError } from '#api/kit/sockets/unix-socket.ts';
import { listenAt, listenOn, rootDirError } from './start-fault.ts';

const coded = (code: string): Error => Object.assign(new Error(code), { code });
const fail = (reason: Error) => async (): Promise<never> => {
  throw reason;
};
const place = { portFlag: '--p', addressFlag: '--a', address: '::1', port: 80 };

test.each([
  ['EADDRINUSE', '--p: another program listens on [::1]:80; stop it, or choose another port'],
  ['EADDRNOTAVAIL', '--a: ::1 does not belong to this machine'],
  ['EACCES', '--p: listening on [::1]:80 is not allowed; ports below 1024 need root'],
  ['EMFILE', 'EMFILE'],
])('listenAt: %s', async (code, message) => {
  await expect(listenAt(place, fail(coded(code)))).rejects.toThrow(message);
});

test('listenOn names the flag', async () => {
  const used = new SocketInUseError('/s', 'is served by another process; stop it, or choose another path');
  await expect(listenOn('--socket', '/s', fail(used))).rejects.toThrow('--socket: /s is served by another');
  await expect(listenOn('--socket', '/s', fail(coded('EINVAL')))).rejects.toThrow('is too long for a socket');
  await expect(listenOn('--socket', '/s', fail(coded('EIO')))).rejects.toThrow('EIO');
});

test.each([
  ['EACCES', 1000, 'the agent needs root; start it with sudo: --root-dir: /r is not writable'],
  ['EPERM', 0, '--root-dir: /r is not writable'],
  ['EROFS', 0, '--root-dir: /r is on a read-only file system'],
  ['ENOENT', 0, '--root-dir: /r cannot be created: its file system does not support directories'],
  ['ENOTDIR', 0, '--root-dir: /r is not a directory'],
  ['EIO', 0, 'EIO'],
])('rootDirError: %s as user %i', (code, user, message) => {
  expect(rootDirError(coded(code), '/r', user).message).toBe(message);
});
