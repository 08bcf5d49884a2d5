/** Cipher suites that a TLS server accepts, found by offering each alone. */
import { type ConnectionOptions, connect, createSecureContext, getCiphers } from 'node:tls';

/** Undefined for suites that OpenSSL can name but does not offer. */
function offerOf(suite: string): ConnectionOptions | undefined {
  const version = suite.startsWith('TLS_') ? 'TLSv1.3' : 'TLSv1.2';
  const ciphers = version === 'TLSv1.3' ? suite : `${suite}@SECLEVEL=0`;
  const offer = { ciphers, minVersion: version, maxVersion: version } as const;
  try {
    createSecureContext(offer);
    return offer;
  } catch {
    return undefined;
  }
}

function takes(port: number, offer: ConnectionOptions): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...offer });
    const end = (accepted: boolean): void => {
      socket.destroy();
      resolve(accepted);
    };
    socket.once('secureConnect', () => end(true));
    socket.once('error', () => end(false));
  });
}

/** Returns every suite that this machine's OpenSSL offers and the server accepts, in alphabetical order. */
export async function negotiatedSuites(port: number): Promise<readonly string[]> {
  const accepted: string[] = [];
  for (const name of getCiphers()) {
    const suite = name.toUpperCase();
    const offer = offerOf(suite);
    if (offer !== undefined && (await takes(port, offer))) accepted.push(suite);
  }
  return accepted.sort();
}
