/** The key that encrypts persisted objects: a credential that systemd decrypts for the agent, bound to the machine's TPM
 *  if there is one, or a generated file. The file is not in the folder of the objects, so that a copy of that folder is of
 *  no use; a process that can read both can read the objects. */
import { randomBytes, randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '#api/kit/errno.ts';

const KEY_BYTES = 32;
/** Name of the credential, and of the file. */
const NAME = 'saved-objects.key';

/** The key has another length, for example because its file was truncated. */
export class ObjectKeyError extends Error {
  override readonly name = 'ObjectKeyError';
  constructor(path: string, found: number) {
    super(
      `${path} must be a key of ${KEY_BYTES} bytes and has ${found}; remove it to have a new one generated`,
    );
  }
}

export interface ObjectKeyPlaces {
  /** `$CREDENTIALS_DIRECTORY`, if systemd has passed credentials. */
  readonly credentialsDir: string | undefined;
  /** Folder of the generated file; created if missing. */
  readonly keyDir: string;
}

async function read(path: string): Promise<Buffer | undefined> {
  try {
    const key = await readFile(path);
    if (key.length !== KEY_BYTES) throw new ObjectKeyError(path, key.length);
    return key;
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** Never leaves an incomplete key, and never replaces one. */
async function generate(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const partial = `${path}.${randomUUID()}.new`;
  const file = await open(partial, 'w', 0o600);
  try {
    await file.writeFile(randomBytes(KEY_BYTES));
    await file.datasync();
  } finally {
    await file.close();
  }
  try {
    await link(partial, path);
  } catch (thrown) {
    if (errorCode(thrown) !== 'EEXIST') throw thrown;
  } finally {
    await rm(partial, { force: true });
  }
}

/** @throws ObjectKeyError, or the error of the file system */
export async function loadObjectKey({ credentialsDir, keyDir }: ObjectKeyPlaces): Promise<Buffer> {
  const credential = credentialsDir === undefined ? undefined : await read(join(credentialsDir, NAME));
  if (credential !== undefined) return credential;
  const path = join(keyDir, NAME);
  const known = await read(path);
  if (known !== undefined) return known;
  await generate(path);
  const generated = await read(path);
  if (generated === undefined) throw new Error(`${path} was removed`);
  return generated;
}
