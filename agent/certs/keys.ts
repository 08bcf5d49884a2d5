/** Private keys of certificates. */
import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

export type KeyType = 'ecdsa' | 'rsa';

const RSA_BITS = 2048;
const generate = promisify(generateKeyPair);

/** A new private key: P-256, or RSA of 2048 bits. Made off the event loop. */
export async function makeKey(type: KeyType): Promise<KeyObject> {
  const { privateKey } =
    type === 'rsa'
      ? await generate('rsa', { modulusLength: RSA_BITS })
      : await generate('ec', { namedCurve: 'P-256' });
  return privateKey;
}

export const formatPrivateKey = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' });

/** The key of a PEM text; `undefined` if it holds none that can be used. */
export function parsePrivateKey(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'rsa' || key.asymmetricKeyType === 'ec' ? key : undefined;
  } catch {
    return undefined;
  }
}

export const keyTypeOf = (key: KeyObject): KeyType => (key.asymmetricKeyType === 'rsa' ? 'rsa' : 'ecdsa');
