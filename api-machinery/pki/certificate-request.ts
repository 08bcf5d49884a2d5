/** Creates certificate signing requests. Structures by node-forge, keys and signatures by node:crypto.
 *  Source: RFC 2986; RFC 2985, 5.4.2. */
import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import {
  type AlternativeNames,
  alternativeNames,
  formatName,
  type Subject,
  signatureAlgorithm,
} from './certificate.ts';
import * as der from './der.ts';
import { formatPem } from './pem.ts';

export interface RequestTerms extends AlternativeNames {
  readonly subject: Subject;
}

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';
const SUBJECT_ALT_NAME = '2.5.29.17';

function attributes(terms: RequestTerms): readonly der.Asn1[] {
  const names = alternativeNames(terms);
  if (names.length === 0) return [];
  const extension = der.sequence(der.oid(SUBJECT_ALT_NAME), der.octets(der.toDer(der.sequence(...names))));
  return [der.sequence(der.oid(EXTENSION_REQUEST), der.set(der.sequence(extension)))];
}

/** Returns the PEM of a request, signed by its key.
 *  @param key private, RSA or P-256
 *  @throws Error for an invalid address */
export function makeCertificateRequest(terms: RequestTerms, key: KeyObject): string {
  const info = der.sequence(
    der.integer(0),
    formatName(terms.subject),
    der.fromDer(createPublicKey(key).export({ type: 'spki', format: 'der' })),
    der.tagged(0, ...attributes(terms)),
  );
  const signature = sign('sha256', der.toDer(info), key);
  const request = der.sequence(info, signatureAlgorithm(key), der.bits(signature));
  return formatPem('CERTIFICATE REQUEST', der.toDer(request));
}
