/** Content negotiation: the format of a response and of a body, from the client's headers. Pure.
 *  Source: media types, document 1 §4.7; RFC 9110 §12.5.1. */
import { StatusError } from '#api/meta/status-error.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';

export type MediaType = 'json' | 'yaml' | 'protobuf';
export type Representation = 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

/** The format of a response. */
export interface Shape {
  readonly mediaType: MediaType;
  readonly as: Representation;
  /** Version of the group of Table and PartialObjectMetadata. */
  readonly metaVersion: 'v1' | 'v1beta1';
  /** Domain of that group, if the client uses upstream's name and the server does not. */
  readonly metaDomain?: string;
  /** Parameters of the requested media type. */
  readonly pretty: boolean;
}

/** The available formats, in addition to JSON and YAML. */
export interface Offer {
  /** `metadata`: only for PartialObjectMetadata and lists of it. */
  readonly protobuf: 'all' | 'metadata' | 'none';
  /** Whether there are representations besides the object itself. */
  readonly transforms: boolean;
  /** Whether Table is one of them. Default true. */
  readonly tables?: boolean;
}

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/yaml';
const PLAIN_JSON: Shape = { mediaType: 'json', as: 'object', metaVersion: 'v1', pretty: false };
/** Maximum number of ranges; more than any client needs. */
const MAX_CLAUSES = 64;

/** One range of an Accept header. */
export interface Clause {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  readonly parameters: ReadonlyMap<string, string>;
}

const unquoted = (text: string): string =>
  text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;

function parseClause(text: string): Clause | undefined {
  const [range = '', ...rest] = text.split(';');
  const [type = '', subtype = '', ...more] = range.trim().toLowerCase().split('/');
  // Some old clients send a lone asterisk for `*/*`.
  if (type === '*' && subtype === '') return { type, subtype: '*', quality: 1, parameters: new Map() };
  if (type === '' || subtype === '' || more.length > 0) return undefined;
  const parameters = new Map<string, string>();
  let quality = 1;
  for (const parameter of rest) {
    const equals = parameter.indexOf('=');
    const name = (equals < 0 ? parameter : parameter.slice(0, equals)).trim().toLowerCase();
    const value = equals < 0 ? '' : unquoted(parameter.slice(equals + 1).trim());
    if (name === 'q') quality = Number(value);
    else if (name !== '') parameters.set(name, value);
  }
  return Number.isFinite(quality) && quality > 0 ? { type, subtype, quality, parameters } : undefined;
}

const wildcards = ({ type, subtype }: Clause): number => (type === '*' ? 1 : 0) + (subtype === '*' ? 1 : 0);

/** Returns the accepted ranges, the best first; of equals the more specific, then the earlier. */
export function parseAccept(header: string): readonly Clause[] {
  const clauses = header.split(',', MAX_CLAUSES).flatMap((text) => parseClause(text) ?? []);
  return clauses.toSorted(
    (left, right) => right.quality - left.quality || wildcards(left) - wildcards(right),
  );
}

/** Returns the available media types, the preferred one first. */
function mediaTypes(
  { protobuf }: Offer,
  { protobufContentType }: Vocabulary,
): readonly (readonly [MediaType, string])[] {
  const always = [
    ['json', JSON_TYPE],
    ['yaml', YAML_TYPE],
  ] as const;
  return protobuf === 'none' ? always : [...always, ['protobuf', protobufContentType] as const];
}

const REPRESENTATIONS: readonly Representation[] = [
  'Table',
  'PartialObjectMetadata',
  'PartialObjectMetadataList',
];

/** Upstream's group of Table and PartialObjectMetadata, which belong to objects of any group: upstream
 *  clients know no other name. */
const UPSTREAM = VOCABULARIES.kubernetes;

/** Returns the representation that parameters request; `undefined` for an unknown one. */
function representationOf(
  { parameters }: Clause,
  { transforms, tables = true }: Offer,
  vocabulary: Vocabulary,
): Pick<Shape, 'as' | 'metaVersion' | 'metaDomain'> | undefined {
  const kind = parameters.get('as');
  if (kind === undefined) {
    return parameters.has('g') || parameters.has('v') ? undefined : { as: 'object', metaVersion: 'v1' };
  }
  const as = REPRESENTATIONS.find((known) => known === kind);
  const version = parameters.get('v') ?? '';
  if (as === undefined || !transforms || (as === 'Table' && !tables)) return undefined;
  if (version !== 'v1' && version !== 'v1beta1') return undefined;
  const group = parameters.get('g');
  if (group === `meta.${vocabulary.apiGroupDomain}`) return { as, metaVersion: version };
  const { apiGroupDomain } = UPSTREAM;
  return group === `meta.${apiGroupDomain}`
    ? { as, metaVersion: version, metaDomain: apiGroupDomain }
    : undefined;
}

function isServed(mediaType: MediaType, as: Representation, offer: Offer): boolean {
  if (mediaType !== 'protobuf') return true;
  return as !== 'Table' && (offer.protobuf === 'all' || as !== 'object');
}

/** Returns the format of a response.
 *  @throws StatusError NotAcceptable */
export function negotiate(
  accept: string | undefined,
  offer: Offer,
  vocabulary: Vocabulary,
  watch = false,
): Shape {
  if (accept === undefined || accept === '' || accept === JSON_TYPE || accept === '*/*') return PLAIN_JSON;
  const offered = mediaTypes(offer, vocabulary);
  for (const clause of parseAccept(accept)) {
    const found = representationOf(clause, offer, vocabulary);
    const stream = clause.parameters.get('stream') ?? '';
    if (found === undefined || (stream !== '' && !(watch && stream === 'watch'))) continue;
    const choice = offered.find(
      ([mediaType, name]) => matches(clause, name) && isServed(mediaType, found.as, offer),
    );
    if (choice !== undefined) {
      return { mediaType: choice[0], ...found, pretty: clause.parameters.get('pretty') === '1' };
    }
  }
  throw notAcceptable(offer, vocabulary);
}

/** Reports whether a range of an Accept header matches a media type. */
export function matches({ type, subtype }: Clause, name: string): boolean {
  if (type === '*') return subtype === '*';
  return subtype === '*' ? name.startsWith(`${type}/`) : name === `${type}/${subtype}`;
}

const namesOf = (offer: Offer, vocabulary: Vocabulary): string =>
  mediaTypes(offer, vocabulary)
    .map(([, name]) => name)
    .join(', ');

function notAcceptable(offer: Offer, vocabulary: Vocabulary): StatusError {
  const names = namesOf(offer, vocabulary);
  return new StatusError('NotAcceptable', `only the following media types are accepted: ${names}`);
}

/** Returns the `Content-Type` of a response; that of a watch has a parameter, except for JSON. */
export function contentTypeOf(mediaType: MediaType, vocabulary: Vocabulary, watch = false): string {
  if (mediaType === 'json') return JSON_TYPE;
  const name = mediaType === 'yaml' ? YAML_TYPE : vocabulary.protobufContentType;
  return watch ? `${name};stream=watch` : name;
}

/** Reports whether the output should be human-readable: the client requests it, or is a browser or a common
 *  command line tool. */
export function wantsPretty(query: URLSearchParams, userAgent: string | undefined): boolean {
  const text = query.get('pretty');
  if (text !== null && text !== '') return /^(?:1|t|T|true|TRUE|True)$/.test(text);
  return userAgent !== undefined && /^(?:curl|Wget|Mozilla\/5\.0)/.test(userAgent);
}

/** Returns the media type without its parameters, in lower case. */
export const bareMediaType = (contentType: string | undefined): string =>
  (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** Returns the format of a body; JSON by default.
 *  @throws StatusError UnsupportedMediaType */
export function bodyFormat(contentType: string | undefined, offer: Offer, vocabulary: Vocabulary): MediaType {
  if (contentType === JSON_TYPE) return 'json';
  const name = bareMediaType(contentType);
  if (name === '') return 'json';
  const found = mediaTypes(offer, vocabulary).find(([, known]) => known === name);
  if (found !== undefined) return found[0];
  // All of these use the same messages.
  if (name === UPSTREAM.protobufContentType && offer.protobuf !== 'none') return 'protobuf';
  throw unsupportedMediaType(namesOf(offer, vocabulary));
}

export function unsupportedMediaType(accepted: string): StatusError {
  return new StatusError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted}`,
  );
}
