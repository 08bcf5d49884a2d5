import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';

const SCRIPT = `
  const { outliveRejections } = await import(process.argv[1]);
  outliveRejections({ error: (fields, message) => console.log(message + ': ' + fields.err.message) });
  Promise.reject(new Error('of one pod'));
  setTimeout(() => console.log('still here'), 1);
`;

describe('outliveRejections', () => {
  test('logs unhandled rejections and continues', async () => {
    const module = new URL('process-guard.ts', import.meta.url).href;
    const args = ['--input-type=module', '--eval', SCRIPT, module];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: new URL('../..', import.meta.url).pathname,
    });
    expect(stdout).toBe('Unhandled promise rejection: of one pod\nstill here\n');
  });
});
