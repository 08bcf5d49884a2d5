/** Signing key of service account tokens, generated on the first start and stored in the data directory. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere, writePrivate } from './private-files.ts';

/** @throws Error that names the unreadable or unwritable file */
export async function loadSigningKey(dir: string): Promise<KeyObject> {
  await mkdir(join(dir, 'pki'), { recursive: true, mode: 0o700 });
  const file = join(dir, 'pki', 'service-account.key');
  const known = await readIfThere(file);
  if (known !== undefined) return parse(known, file);
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  await writePrivate(file, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  return privateKey;
}

function parse(pem: string, file: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new Error(
      `${file} contains no private key; remove it to generate a new one, which invalidates all tokens`,
      {
        cause,
      },
    );
  }
}
