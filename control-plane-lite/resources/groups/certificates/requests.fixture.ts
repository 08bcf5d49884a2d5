/** Certificate requests as clients create them, for tests. Source: RFC 2986. */
import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { addressBytes, createKey } from '#api/pki/certificate.ts';
import {
  type Asn1,
  bits,
  boolean,
  fromDer,
  integer,
  nothing,
  octets,
  oid,
  sequence,
  set,
  tagged,
  taggedBytes,
  toDer,
  utf8,
} from '#api/pki/der.ts';
import { formatPem } from '#api/pki/pem.ts';

export interface RequestTraits {
  readonly commonName?: string;
  readonly organizations?: readonly string[];
  readonly unit?: string;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly emailAddresses?: readonly string[];
  readonly uris?: readonly string[];
  readonly wantsAuthority?: boolean;
  /** EC or RSA. */
  readonly key?: KeyObject;
}

function extensions(traits: RequestTraits): readonly Asn1[] {
  const { dnsNames = [], ipAddresses = [], emailAddresses = [], uris = [] } = traits;
  const names = [
    ...emailAddresses.map((each) => taggedBytes(1, Buffer.from(each))),
    ...dnsNames.map((each) => taggedBytes(2, Buffer.from(each))),
    ...uris.map((each) => taggedBytes(6, Buffer.from(each))),
    ...ipAddresses.map((each) => taggedBytes(7, addressBytes(each))),
  ];
  const one = (id: string, value: Asn1): Asn1 => sequence(oid(id), octets(toDer(value)));
  return [
    ...(names.length === 0 ? [] : [one('2.5.29.17', sequence(...names))]),
    ...(traits.wantsAuthority === true ? [one('2.5.29.19', sequence(boolean(true)))] : []),
  ];
}

/** PEM of a request, signed by its key. */
export function makeRequest(traits: RequestTraits): string {
  const { commonName, organizations = [], unit, key = createKey() } = traits;
  const attribute = (id: string, value: string): Asn1 => set(sequence(oid(id), utf8(value)));
  const name = sequence(
    ...organizations.map((each) => attribute('2.5.4.10', each)),
    ...(unit === undefined ? [] : [attribute('2.5.4.11', unit)]),
    ...(commonName === undefined ? [] : [attribute('2.5.4.3', commonName)]),
  );
  const asked = extensions(traits);
  const attributes =
    asked.length === 0 ? [] : [sequence(oid('1.2.840.113549.1.9.14'), set(sequence(...asked)))];
  const spki = fromDer(createPublicKey(key).export({ type: 'spki', format: 'der' }));
  const info = toDer(sequence(integer(0), name, spki, tagged(0, ...attributes)));
  const algorithm =
    key.asymmetricKeyType === 'rsa'
      ? sequence(oid('1.2.840.113549.1.1.11'), nothing())
      : sequence(oid('1.2.840.10045.4.3.2'));
  return formatPem(
    'CERTIFICATE REQUEST',
    toDer(sequence(fromDer(info), algorithm, bits(sign('sha256', info, key)))),
  );
}

/** As a CertificateSigningRequest has it. */
export const requestData = (traits: RequestTraits): string =>
  Buffer.from(makeRequest(traits)).toString('base64');
