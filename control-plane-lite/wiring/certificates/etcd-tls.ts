/** Follows the TLS files for mutual authentication with an etcd cluster. */
import { createSecureContext } from 'node:tls';
import type { FollowedFiles } from '#api/kit/files/follow-files.ts';
import { parseCertificates } from '../../authn/client-certificate.ts';
import type { ServerConfig } from '../../config/settings.ts';
import type { EtcdTls } from '../../store/etcd/servers.ts';
import type { Follow } from './follow.ts';

type Files = Pick<ServerConfig, 'etcdCafile' | 'etcdCertfile' | 'etcdKeyfile'>;

/** The files that are given, with their parts and flags. */
const given = ({
  etcdCafile,
  etcdCertfile,
  etcdKeyfile,
}: Files): readonly (readonly [string, string, string])[] =>
  (
    [
      ['ca', etcdCafile, '--etcd-cafile'],
      ['cert', etcdCertfile, '--etcd-certfile'],
      ['key', etcdKeyfile, '--etcd-keyfile'],
    ] as const
  ).filter(([, file]) => file !== '');

/** Follows the files; `undefined` if none is given.
 *  @throws Error that names the option and the invalid file */
export async function followEtcdTls(
  files: Files,
  follow: Follow,
): Promise<FollowedFiles<EtcdTls> | undefined> {
  const all = given(files);
  if (all.length === 0) return undefined;
  return follow({
    what: 'TLS files for etcd',
    paths: all.map(([, file]) => file),
    names: all.map(([, file, flag]) => `${flag}: ${file}`),
    parse: (texts) => parseEtcdTls(files, new Map(all.map(([name], index) => [name, texts[index] ?? '']))),
  });
}

/** @throws Error that names the option and the invalid file */
function parseEtcdTls(
  { etcdCafile, etcdCertfile, etcdKeyfile }: Files,
  texts: ReadonlyMap<string, string>,
): EtcdTls {
  const [ca, cert, key] = [texts.get('ca'), texts.get('cert'), texts.get('key')];
  if (ca !== undefined) requireCertificate(`--etcd-cafile: ${etcdCafile}`, ca);
  if (cert !== undefined) requireCertificate(`--etcd-certfile: ${etcdCertfile}`, cert);
  if (cert !== undefined && key !== undefined) {
    explained(`--etcd-keyfile: ${etcdKeyfile} contains no key in PEM form for ${etcdCertfile}`, () =>
      createSecureContext({ cert, key }),
    );
  }
  return {
    ...(ca === undefined ? {} : { ca: Buffer.from(ca) }),
    ...(cert === undefined ? {} : { cert: Buffer.from(cert) }),
    ...(key === undefined ? {} : { key: Buffer.from(key) }),
  };
}

function requireCertificate(file: string, pem: string): void {
  const complaint = `${file} contains no certificate in PEM form`;
  const found = explained(complaint, () => parseCertificates(pem));
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
