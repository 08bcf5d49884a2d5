/** The certificate that a server of the agent shows, and word of every other one that takes its place. Servers give it
 *  to `setSecureContext`: connections that are open stay open. */

import { createListeners } from '#api/kit/listeners.ts';
import type { Identity } from '#api/pki/certificate.ts';

export interface TlsSource {
  /** PEM, with the certificates between it and its authority. */
  readonly current: () => Identity;
  /** Calls with every later one. @returns ends that */
  readonly onChange: (listener: (pair: Identity) => void) => () => void;
  /** Keeps it up to date until the signal fires. Never rejects. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Names and addresses by which clients reach the server. */
export interface ServingNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

export interface HeldPair {
  get(): Identity;
  /** Tells the listeners, if it is another. */
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
