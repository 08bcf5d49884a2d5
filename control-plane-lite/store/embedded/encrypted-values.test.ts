import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../../../testing/temp.ts';
import { backupStore } from './copies.ts';
import { countEncrypted } from './encrypted-values.ts';
import { createEmbeddedStore } from './store.ts';

test('counts the encrypted values of a backup by their keys', async () => {
  await using folder = await createTempDir('na-encrypted-');
  const dir = join(folder.path, 'store');
  const store = await createEmbeddedStore({ dir });
  const values = [
    '{}',
    'k8s:enc:aescbc:v1:a:\u0000',
    'k8s:enc:aescbc:v1:a::',
    'k8s:enc:kms:v2:b:x',
    'plat:enc:',
  ];
  for (const [index, value] of values.entries())
    await store.put(`/registry/${index}`, Buffer.from(value), 'absent');
  await store.close();
  const file = join(folder.path, 'backup');
  await backupStore(dir, file);
  expect(countEncrypted(file)).toEqual([
    { prefix: 'k8s:enc:aescbc:v1:a', count: 2 },
    { prefix: 'k8s:enc:kms:v2:b', count: 1 },
    { prefix: 'plat:enc:', count: 1 },
  ]);
});
