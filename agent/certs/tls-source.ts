/** Current certificate of a server, with notifications of replacements. Servers pass it to
 *  `setSecureContext`: open connections stay open. */

import { createListeners } from '#api/kit/listeners.ts';
import type { Identity } from '#api/pki/certificate.ts';

export interface TlsSource {
  /** PEM, including intermediate certificates. */
  readonly current: () => Identity;
  /** Calls the listener with every later certificate. @returns a function that ends the subscription */
  readonly onChange: (listener: (pair: Identity) => void) => () => void;
  /** Renews the certificate until the signal fires. Never rejects. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Names and addresses of the server. */
export interface ServingNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

export interface HeldPair {
  get(): Identity;
  /** Notifies the listeners if the pair has changed. */
  set(pair: Identity): void;
  onChange(listener: (pair: Identity) => void): () => void;
}

export function holdPair(initial: Identity): HeldPair {
  let held: Identity = { certificate: initial.certificate, key: initial.key };
  const listeners = createListeners<[pair: Identity]>('serving certificate');
  return {
    get: () => held,
    set(pair) {
      if (held.certificate === pair.certificate && held.key === pair.key) return;
      held = { certificate: pair.certificate, key: pair.key };
      listeners.notify(held);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
