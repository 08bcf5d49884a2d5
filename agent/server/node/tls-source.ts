/** Where the certificate of the agent's server comes from. */
import type { Identity } from '#api/pki/certificate.ts';
import type { WatchedFiles } from './watched-files.ts';

export interface TlsSource {
  readonly current: () => Identity;
  /** Calls the listener when there is another certificate; connections that are open keep theirs.
   *  @returns a function that ends the subscription */
  readonly onChange: (listener: () => void) => () => void;
}

/** A certificate that stays. */
export const fixedTls = (identity: Identity): TlsSource => ({
  current: () => identity,
  onChange: () => () => undefined,
});

/** @param files the certificate's and the key's */
export const fileTls = (files: WatchedFiles): TlsSource => ({
  current() {
    const [certificate = '', key = ''] = files.texts();
    return { certificate, key };
  },
  onChange: files.onChange,
});
