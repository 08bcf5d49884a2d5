/** Private keys of certificates. */
import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

export type KeyType = 'ecdsa' | 'rsa';

const RSA_BITS = 2048;
const generate = promisify(generateKeyPair);

/** Generates a private key: P-256, or RSA with 2048 bits. Runs off the event loop. */
export async function makeKey(type: KeyType): Promise<KeyObject> {
  const { privateKey } =
    type === 'rsa'
      ? await generate('rsa', { modulusLength: RSA_BITS })
      : await generate('ec', { namedCurve: 'P-256' });
  return privateKey;
}

export const formatPrivateKey = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' });

/** Parses a PEM key; `undefined` if it is not usable. */
export function parsePrivateKey(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'rsa' || key.asymmetricKeyType === 'ec' ? key : undefined;
  } catch {
    return undefined;
  }
}

export const keyTypeOf = (key: KeyObject): KeyType => (key.asymmetricKeyType === 'rsa' ? 'rsa' : 'ecdsa');
