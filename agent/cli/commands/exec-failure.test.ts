import { expect, test } from 'vitest';
import { decideExecFailure } from './exec-failure.ts';

const RUNC =
  'error executing command in container: failed to exec in container: failed to start exec "ab12": OCI runtime exec failed: exec failed: unable to start container process: ';

test.each([
  [
    `${RUNC}exec: "nosuch": executable file not found in $PATH: unknown`,
    127,
    'nosuch: executable not found in the container',
  ],
  [
    `${RUNC}exec: "/no/such": stat /no/such: no such file or directory: unknown`,
    127,
    '/no/such: executable not found in the container',
  ],
  [
    'exec failed: executable file `nosuch` not found in $PATH: No such file or directory',
    127,
    'nosuch: executable not found in the container',
  ],
  [`${RUNC}exec: "/etc/passwd": permission denied: unknown`, 126, '/etc/passwd: permission denied'],
  [`${RUNC}exec: "/etc": is a directory: unknown`, 126, '/etc: is a directory'],
  ['exec /script: exec format error', 126, '/script: exec format error'],
])('%s', (text, exitCode, message) => {
  expect(decideExecFailure(text)).toEqual({ exitCode, message });
});

test.each(['', 'container not found', 'the session ended without an exit status', `${RUNC}cgroup is gone`])(
  'does not explain %j',
  (text) => {
    expect(decideExecFailure(text)).toBeUndefined();
  },
);
