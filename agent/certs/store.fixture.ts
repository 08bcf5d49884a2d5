/** Test support for certificates. */
import type { KeyObject } from 'node:crypto';
import { createPublicKey } from 'node:crypto';
import { createAuthority, type Identity, issueCertificate } from '#api/pki/certificate.ts';
import type { CertificateFiles } from './files.ts';

export class Killed extends Error {
  override readonly name = 'Killed';
}

/** Files that fail as if the process had been killed: the step with that number, counted from 0 over all
 *  writes, and later ones have no effect. */
export function killedAt(files: CertificateFiles, step: number): CertificateFiles {
  let left = step;
  const or =
    <Args extends readonly unknown[], T>(work: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      if (left === 0) throw new Killed();
      left -= 1;
      return await work(...args);
    };
  return {
    ...files,
    write: or((path: string, text: string) => files.write(path, text)),
    create: or((path: string, text: string) => files.create(path, text)),
    point: or((path: string, target: string) => files.point(path, target)),
    remove: or((path: string) => files.remove(path)),
  };
}

export interface TestAuthority {
  readonly authority: Identity;
  /** PEM for a key. */
  readonly issue: (key: KeyObject, name: string, fromMs: number, untilMs: number) => string;
}

export function createTestAuthority(nowMs: number): TestAuthority {
  const hour = 3_600_000;
  const authority = createAuthority(
    { commonName: 'test' },
    new Date(nowMs - 24 * hour),
    new Date(nowMs + 9999 * hour),
  );
  return {
    authority,
    issue: (key, name, fromMs, untilMs) =>
      issueCertificate(authority, {
        subject: { commonName: name, organizations: ['system:nodes'] },
        publicKey: createPublicKey(key),
        extendedUsages: ['clientAuth'],
        notBefore: new Date(fromMs),
        notAfter: new Date(untilMs),
      }),
  };
}
