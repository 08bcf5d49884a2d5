import { expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { loadConfig } from '../config/load.ts';
import { formatNodeConfig } from './node-config.ts';

test.each(['plat', 'kubernetes'] as const)('formatNodeConfig is read as safe settings (%s)', async (name) => {
  const text = formatNodeConfig(VOCABULARIES[name], { authorityFile: '/a "b"/ca.crt' });
  const read = await loadConfig(['--config=/c', `--vocabulary=${name}`], {
    cwd: '/',
    readFile: () => Promise.resolve(text),
  });
  if (read.kind !== 'ok') throw new Error(read.kind);
  expect(read.config.authentication).toMatchObject({
    anonymous: { enabled: false },
    webhook: { enabled: true },
    x509: { clientCAFile: '/a "b"/ca.crt' },
  });
  expect(read.config.authorization.mode).toBe('Webhook');
  expect(read.config.readOnlyPort).toBe(0);
  expect(read.warnings).toEqual([]);
});
