/** Subject and extensions of a certificate request: the requested names, and whether it requests a CA.
 *  Everything else in a request is ignored. Pure. Source: RFC 2986; RFC 5280, 4.1.2.6 and 4.2.1. */
import {
  type CertificateRequest,
  CertificateRequestError,
  type DerValue,
  readValues,
} from './certificate-request.ts';

export interface RequestContent {
  /** Empty if there is none. */
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Further attributes of the subject, by their dotted identifiers. */
  readonly others: readonly { readonly oid: string; readonly value: string }[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
  readonly wantsAuthority: boolean;
}

const COMMON_NAME = '550403';
const ORGANIZATION = '55040a';
/** Further attributes that are copied. */
const OTHERS: ReadonlyMap<string, string> = new Map([
  ['550405', '2.5.4.5'],
  ['550406', '2.5.4.6'],
  ['550407', '2.5.4.7'],
  ['550408', '2.5.4.8'],
  ['550409', '2.5.4.9'],
  ['55040b', '2.5.4.11'],
  ['550411', '2.5.4.17'],
]);

const EXTENSION_REQUEST = '2a864886f70d01090e';
const SUBJECT_ALT_NAME = '551d11';
const BASIC_CONSTRAINTS = '551d13';
const OCTET_STRING = 0x04;
const BOOLEAN = 0x01;

/** Decoders of the string types. */
const ENCODINGS: ReadonlyMap<number, 'utf8' | 'latin1'> = new Map([
  [0x0c, 'utf8'],
  [0x12, 'latin1'],
  [0x13, 'latin1'],
  [0x14, 'latin1'],
  [0x16, 'latin1'],
]);
const BMP_STRING = 0x1e;

/** Control and format characters, which can make a name look like another. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f\ufffd]/;

function checked(text: string, what: string): string {
  if (CONTROL.test(text)) throw new CertificateRequestError(`the ${what} contains control characters`);
  return text;
}

function readString({ tag, content }: DerValue): string {
  const encoding = ENCODINGS.get(tag);
  if (encoding !== undefined) return checked(content.toString(encoding), 'subject');
  if (tag !== BMP_STRING || content.length % 2 !== 0) {
    throw new CertificateRequestError('the subject has a value that is not a string');
  }
  return checked(Buffer.from(content).swap16().toString('utf16le'), 'subject');
}

type Name = Pick<RequestContent, 'commonName' | 'organizations' | 'others'>;

function readName(der: Buffer): Name {
  let commonName = '';
  const organizations: string[] = [];
  const others: { readonly oid: string; readonly value: string }[] = [];
  const [name] = readValues(der);
  const pairs = readValues(name?.content ?? Buffer.alloc(0)).flatMap(({ content }) => readValues(content));
  for (const { content } of pairs) {
    const [type, value] = readValues(content);
    if (type === undefined || value === undefined) {
      throw new CertificateRequestError('the subject has an attribute without a value');
    }
    const oid = type.content.toString('hex');
    const other = OTHERS.get(oid);
    if (oid === COMMON_NAME) commonName = readString(value);
    else if (oid === ORGANIZATION) organizations.push(readString(value));
    else if (other !== undefined) others.push({ oid: other, value: readString(value) });
  }
  return { commonName, organizations, others };
}

function readAddress(bytes: Buffer): string {
  if (bytes.length === 4) return [...bytes].join('.');
  if (bytes.length !== 16)
    throw new CertificateRequestError('an IP address in the subject alternative names is invalid');
  return Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16)).join(':');
}

type Names = Pick<RequestContent, 'dnsNames' | 'ipAddresses' | 'emailAddresses' | 'uris'>;

function readAlternatives(value: Buffer): Names {
  const [names] = readValues(value);
  const found = readValues(names?.content ?? Buffer.alloc(0));
  const ascii = (tag: number): readonly string[] =>
    found
      .filter((name) => name.tag === tag)
      .map(({ content }) => {
        if (content.some((byte) => byte >= 0x80)) {
          throw new CertificateRequestError('a subject alternative name is not ASCII');
        }
        return checked(content.toString('latin1'), 'list of names');
      });
  return {
    emailAddresses: ascii(0x81),
    dnsNames: ascii(0x82),
    uris: ascii(0x86),
    ipAddresses: found.filter(({ tag }) => tag === 0x87).map(({ content }) => readAddress(content)),
  };
}

/** Values of the requested extensions, by identifier in hexadecimal. */
function readExtensions(attributes: Buffer): ReadonlyMap<string, Buffer> {
  const extensions = new Map<string, Buffer>();
  for (const attribute of readValues(attributes)) {
    const [type, values] = readValues(attribute.content);
    if (type?.content.toString('hex') !== EXTENSION_REQUEST) continue;
    for (const list of readValues(values?.content ?? Buffer.alloc(0))) {
      for (const { content } of readValues(list.content)) {
        const [id, ...rest] = readValues(content);
        const value = rest.find(({ tag }) => tag === OCTET_STRING);
        if (id === undefined || value === undefined) continue;
        const key = id.content.toString('hex');
        if (extensions.has(key))
          throw new CertificateRequestError('an extension is requested more than once');
        extensions.set(key, value.content);
      }
    }
  }
  return extensions;
}

function wantsAuthority(value: Buffer | undefined): boolean {
  if (value === undefined) return false;
  const [constraints] = readValues(value);
  const [first] = readValues(constraints?.content ?? Buffer.alloc(0));
  return first?.tag === BOOLEAN && first.content[0] !== 0;
}

/** @throws CertificateRequestError if names can't be read, or could be read in two ways */
export function readRequestContent({ subject, attributes }: CertificateRequest): RequestContent {
  const extensions = readExtensions(attributes);
  return {
    ...readName(subject),
    ...readAlternatives(extensions.get(SUBJECT_ALT_NAME) ?? Buffer.alloc(0)),
    wantsAuthority: wantsAuthority(extensions.get(BASIC_CONSTRAINTS)),
  };
}
