/** Static and file credentials of a configuration: tokens, certificates, passwords. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { CertificatePair } from '#api/client-config/exec-credential.ts';
import type { PemSource, UserCredentials } from '#api/client-config/resolve.ts';
import { asError } from '#api/kit/errno.ts';
import { type CredentialSource, fixedCredential } from './credentials.ts';
import { createRenewed, type RenewedDeps } from './renewed-file.ts';

/** A credential file with invalid content. */
class CredentialFileError extends Error {
  override readonly name = 'CredentialFileError';
  readonly reason = 'BadCredentialFile';
}

/** Parses the content of a token file. */
function parseToken(text: string, path: string): string {
  const token = text.trim();
  if (token === '') throw new CredentialFileError(`${path} is empty: it must contain a bearer token`);
  // oxlint-disable-next-line no-control-regex -- exactly what no header may contain
  if (/[\u0000-\u001f\u007f]/.test(token)) {
    throw new CredentialFileError(`${path} has more than one line: it must contain only a bearer token`);
  }
  return token;
}

function createTokenFile(deps: RenewedDeps, path: string, fallback: string): CredentialSource {
  const renewed = createRenewed<string>(deps, [path], ([text = '']) => `Bearer ${parseToken(text, path)}`);
  return {
    async current(signal) {
      try {
        return { authorization: await renewed.current(signal) };
      } catch (thrown) {
        signal.throwIfAborted();
        if (fallback === '') throw thrown;
        return { authorization: `Bearer ${fallback}` };
      }
    },
    async refused(used, signal) {
      try {
        await renewed.renew(used.authorization, signal);
      } catch (thrown) {
        signal.throwIfAborted();
        if (fallback === '') throw thrown;
      }
    },
  };
}

function createPairFiles(
  deps: RenewedDeps,
  { certificate, key }: { readonly certificate: PemSource; readonly key: PemSource },
): CredentialSource {
  const paths = [certificate, key].flatMap((source) => (source.kind === 'file' ? [source.path] : []));
  const renewed = createRenewed<CertificatePair>(deps, paths, (texts, before) => {
    const left = [...texts];
    const take = (source: PemSource): string => (source.kind === 'data' ? source.pem : (left.shift() ?? ''));
    const pair = { certificate: take(certificate), key: take(key) };
    if (before?.certificate === pair.certificate && before.key === pair.key) return before;
    return checkPair(pair, paths);
  });
  return {
    current: async (signal) => ({ certificate: await renewed.current(signal) }),
    refused: (used, signal) => renewed.renew(used.certificate, signal),
  };
}

/** Between the writes of two files they do not match; the previous pair stays in use. */
function checkPair(pair: CertificatePair, paths: readonly string[]): CertificatePair {
  const place = paths.length === 0 ? 'the client certificate of the configuration' : paths.join(' and ');
  let fits = false;
  try {
    fits = new X509Certificate(pair.certificate).checkPrivateKey(createPrivateKey(pair.key));
  } catch (thrown) {
    const { message } = asError(thrown);
    throw new CredentialFileError(`${place} cannot be read as a certificate and its key: ${message}`);
  }
  if (!fits) throw new CredentialFileError(`${place}: the key does not match the certificate`);
  return pair;
}

/** Creates a source for each configured credential.
 *  @throws CredentialFileError for a certificate in the configuration without a matching key */
export function createFileCredentials(
  deps: RenewedDeps,
  { certificate, bearer, basic }: UserCredentials,
): readonly CredentialSource[] {
  const sources: CredentialSource[] = [];
  if (certificate !== undefined) sources.push(createPairFiles(deps, certificate));
  if (bearer?.tokenFile !== undefined) sources.push(createTokenFile(deps, bearer.tokenFile, bearer.token));
  else if (bearer !== undefined) sources.push(fixedCredential({ authorization: `Bearer ${bearer.token}` }));
  if (basic !== undefined) {
    const login = Buffer.from(`${basic.username}:${basic.password}`).toString('base64');
    sources.push(fixedCredential({ authorization: `Basic ${login}` }));
  }
  return sources;
}
