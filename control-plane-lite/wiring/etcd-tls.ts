/** Loads the TLS files for mutual authentication with an etcd cluster. */
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { parseCertificates } from '../authn/client-certificate.ts';
import type { ServerConfig } from '../config/settings.ts';
import type { EtcdTls } from '../store/etcd/servers.ts';

type Files = Pick<ServerConfig, 'etcdCafile' | 'etcdCertfile' | 'etcdKeyfile'>;

/** Undefined if none is given.
 *  @throws Error that names the option and the invalid file */
export async function readEtcdTls(files: Files): Promise<EtcdTls | undefined> {
  const { etcdCafile, etcdCertfile, etcdKeyfile } = files;
  const [ca, cert, key] = await Promise.all([
    readIfGiven('--etcd-cafile', etcdCafile),
    readIfGiven('--etcd-certfile', etcdCertfile),
    readIfGiven('--etcd-keyfile', etcdKeyfile),
  ]);
  if (ca !== undefined) requireCertificate(`--etcd-cafile: ${etcdCafile}`, ca);
  if (cert !== undefined) requireCertificate(`--etcd-certfile: ${etcdCertfile}`, cert);
  if (cert !== undefined && key !== undefined) {
    explained(`--etcd-keyfile: ${etcdKeyfile} contains no key in PEM form for ${etcdCertfile}`, () =>
      createSecureContext({ cert, key }),
    );
  }
  if (ca === undefined && cert === undefined) return undefined;
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

async function readIfGiven(option: string, file: string): Promise<Buffer | undefined> {
  if (file === '') return undefined;
  try {
    return await readFile(file);
  } catch (cause) {
    throw new Error(`${option}: ${file} cannot be read`, { cause });
  }
}

function requireCertificate(file: string, pem: Buffer): void {
  const complaint = `${file} contains no certificate in PEM form`;
  const found = explained(complaint, () => parseCertificates(pem.toString()));
  if (found.length === 0) throw new Error(complaint);
}

/** @throws Error with the message and, as its cause, the original error */
function explained<T>(complaint: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new Error(complaint, { cause });
  }
}
