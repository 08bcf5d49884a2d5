/** What the node's server needs of its certificate. */
import type { Identity } from '#api/pki/certificate.ts';

export interface TlsSource {
  readonly current: () => Identity;
  /** Calls the listener when there is another one; connections that are open keep theirs.
   *  @returns a function that ends the subscription */
  readonly onChange: (listener: () => void) => () => void;
  /** Keeps it up to date until the signal fires. Never rejects. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}
