/** Request to a credential plugin and its response. Pure; errors never quote a response.
 *  Source: credential plugins, document 2 §2.4 and §5.8. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { parseDocuments } from '../codec/documents.ts';
import { isObject } from '../kit/object.ts';
import { parseTime, TimeError } from '../meta/time.ts';
import type { ExecSpec, InteractiveMode } from './exec-spec.ts';

/** A certificate chain and its key, as PEM. */
export interface CertificatePair {
  readonly certificate: string;
  readonly key: string;
}

/** Credentials returned by a plugin: a token, a certificate or both. */
export interface ExecCredential {
  readonly token?: string;
  readonly certificate?: CertificatePair;
  /** Unix ms; without it the credential is valid until the server rejects it. */
  readonly expiresAtMs?: number;
}

/** A response that violates the protocol. */
class ExecResponseError extends Error {
  override readonly name = 'ExecAnswerError';
  readonly reason = 'BadExecAnswer';
}

/** Returns the value of the environment variable that contains the request to a plugin. */
export function formatExecInfo(spec: ExecSpec, interactive: boolean): string {
  const { apiVersion, cluster } = spec;
  return JSON.stringify({
    kind: 'ExecCredential',
    apiVersion,
    spec: { ...(cluster === undefined ? {} : { cluster }), interactive },
  });
}

/** Decides whether a plugin gets the standard input; `impossible` if it requires it and none is available. */
export function decideInteractive(
  mode: InteractiveMode,
  hasTerminal: boolean,
): 'interactive' | 'silent' | 'impossible' {
  switch (mode) {
    case 'Never':
      return 'silent';
    case 'IfAvailable':
      return hasTerminal ? 'interactive' : 'silent';
    case 'Always':
      return hasTerminal ? 'interactive' : 'impossible';
    default:
      return mode satisfies never;
  }
}

type JsonObject = Readonly<Record<string, unknown>>;

function readText(status: JsonObject, name: string): string {
  const value = status[name];
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new ExecResponseError(`status.${name} must be a string`);
  return value;
}

function readToken(status: JsonObject): string {
  const token = readText(status, 'token').trim();
  // oxlint-disable-next-line no-control-regex -- exactly what no header may contain
  if (!/[\u0000-\u001f\u007f]/.test(token)) return token;
  throw new ExecResponseError('status.token must not contain control characters');
}

function readPair(status: JsonObject): CertificatePair | undefined {
  const certificate = readText(status, 'clientCertificateData');
  const key = readText(status, 'clientKeyData');
  if (certificate === '' && key === '') return undefined;
  if (certificate === '' || key === '') {
    throw new ExecResponseError(
      'status.clientCertificateData and status.clientKeyData must be given together',
    );
  }
  let fits = false;
  try {
    fits = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    // The cause is omitted because it could quote a part of the key.
    throw new ExecResponseError('status.clientCertificateData and status.clientKeyData must be PEM');
  }
  if (!fits)
    throw new ExecResponseError('status.clientKeyData must be the key of status.clientCertificateData');
  return { certificate, key };
}

function readExpiry(status: JsonObject): number | undefined {
  const text = readText(status, 'expirationTimestamp');
  if (text === '') return undefined;
  try {
    return parseTime(text);
  } catch (cause) {
    if (!(cause instanceof TimeError)) throw cause;
    throw new ExecResponseError('status.expirationTimestamp must be a time such as 2006-01-02T15:04:05Z');
  }
}

/** Parses the output of a plugin that was called with `apiVersion`.
 *  @throws ExecAnswerError */
export function parseExecCredential(text: string, apiVersion: string): ExecCredential {
  const [document, second] = parseDocuments(text, { maxDepth: 20 });
  if (document === undefined) throw new ExecResponseError('the response is empty');
  const { value } = document;
  if (second !== undefined || document.errors.length > 0 || !isObject(value)) {
    throw new ExecResponseError('the response is not a single JSON object');
  }
  if (value['kind'] !== 'ExecCredential') throw new ExecResponseError('kind must be ExecCredential');
  if (value['apiVersion'] !== apiVersion) {
    throw new ExecResponseError(`apiVersion must be ${apiVersion}, as configured`);
  }
  const { status } = value;
  if (!isObject(status)) throw new ExecResponseError('status must be an object');
  const token = readToken(status);
  const certificate = readPair(status);
  const expiresAtMs = readExpiry(status);
  if (token === '' && certificate === undefined) {
    throw new ExecResponseError('status must have a token, or a client certificate with its key');
  }
  return {
    ...(token === '' ? {} : { token }),
    ...(certificate === undefined ? {} : { certificate }),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
  };
}
