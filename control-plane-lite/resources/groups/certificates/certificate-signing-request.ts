/** CertificateSigningRequests: the spec is immutable; approval and status each have their own subresource.
 *  Authorization decides who may approve and sign. Source: certificates, document 2 §2.5 and §3;
 *  certificates/v1. */
import { X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
  CertificateSigningRequestSpec,
} from '#api/gen/certificates-v1.ts';
import { dns1123SubdomainErrors } from '#api/meta/names.ts';
import { formatTime } from '#api/meta/time.ts';
import { parsePem } from '#api/pki/pem.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { KindEntry, StrategyContext } from '../../contract.ts';
import { ageOf } from '../../rows.ts';
import { kindStrategy, type Mutable, statusPart } from '../kind.ts';
import { pathSegmentErrors } from '../names.ts';
import { CertificateRequestError, parseCertificateRequest } from './certificate-request.ts';

type Request = CertificateSigningRequest;
type Condition = CertificateSigningRequestCondition;

const SHORTEST_SECONDS = 600;
/** A domain, a slash, and as much again as a resource's name can have. */
const LONGEST_SIGNER = 571;
const DECISIONS: readonly string[] = ['Approved', 'Denied'];
const ALWAYS_TRUE: readonly string[] = [...DECISIONS, 'Failed'];
const STATUSES = ['True', 'False', 'Unknown'];

/** Attributes of the requesting user. Values from clients are overwritten. */
const REQUESTOR = ['username', 'uid', 'groups', 'extra'] as const;

const decode64 = (text: string): string => Buffer.from(text, 'base64').toString('latin1');

function validateSigner(errors: FieldErrors, name: string, path: string): void {
  if (name === '') return errors.required(path);
  if (name.length > LONGEST_SIGNER) {
    errors.add('FieldValueTooLong', path, `must have at most ${LONGEST_SIGNER} characters`, name);
  }
  const [domain = '', signer = '', ...more] = name.split('/');
  if (signer === '' || more.length > 0) {
    const form = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return errors.invalid(path, name, form);
  }
  errors.invalidAll(path, domain, dns1123SubdomainErrors(domain));
  if (!domain.includes('.')) {
    errors.invalid(path, domain, 'should be a domain with at least two segments separated by dots');
  }
  errors.invalidAll(path, signer, dns1123SubdomainErrors(signer));
  return undefined;
}

function validateRequest(errors: FieldErrors, spec: CertificateSigningRequestSpec): void {
  if (spec.request === '') return errors.required('spec.request');
  try {
    parseCertificateRequest(decode64(spec.request));
  } catch (error) {
    if (!(error instanceof CertificateRequestError)) throw error;
    errors.invalid('spec.request', spec.request, error.message);
  }
  return undefined;
}

function validateSpec(
  errors: FieldErrors,
  spec: CertificateSigningRequestSpec,
  { vocabulary }: StrategyContext,
): void {
  const { signerName, expirationSeconds, usages = [] } = spec;
  validateRequest(errors, spec);
  if (usages.length === 0) errors.required('spec.usages');
  for (const [index, usage] of usages.entries()) {
    if (usages.indexOf(usage) < index) errors.duplicate(`spec.usages[${index}]`, usage);
  }
  validateSigner(errors, signerName, 'spec.signerName');
  if (signerName === `${vocabulary.domain}/legacy-unknown`) {
    errors.invalid('spec.signerName', signerName, 'may not be used with this version of the API');
  }
  if (expirationSeconds !== undefined && expirationSeconds < SHORTEST_SECONDS) {
    const detail = `may not specify a duration less than ${SHORTEST_SECONDS} seconds (10 minutes)`;
    errors.invalid('spec.expirationSeconds', expirationSeconds, detail);
  }
}

const conditionsOf = ({ status }: Request): readonly Condition[] => status?.conditions ?? [];

function validateConditions(errors: FieldErrors, conditions: readonly Condition[]): void {
  const path = 'status.conditions';
  const seen = new Set<string>();
  for (const [index, { type, status }] of conditions.entries()) {
    const at = `${path}[${index}]`;
    if (type === '') errors.required(`${at}.type`);
    if (status === '') errors.required(`${at}.status`);
    else if (ALWAYS_TRUE.includes(type) && status !== 'True') {
      errors.unsupported(`${at}.status`, status, ['True']);
    } else if (!STATUSES.includes(status)) errors.unsupported(`${at}.status`, status, STATUSES);
    if (seen.has(type)) errors.duplicate(`${at}.type`, type);
    seen.add(type);
  }
  if (seen.has('Approved') && seen.has('Denied')) {
    errors.invalid(path, 'Denied', 'Approved and Denied conditions are mutually exclusive');
  }
}

const withoutTime = ({ type, status, reason = '', message = '' }: Condition): object => ({
  type,
  status,
  reason,
  message,
});

const ofType = (request: Request, type: string): readonly object[] =>
  conditionsOf(request)
    .filter((condition) => condition.type === type)
    .map(withoutTime);

/** Validates conditions: the types in `mayAdd` can be added, and none can be changed or removed. */
function validateDecisions(
  errors: FieldErrors,
  object: Request,
  old: Request,
  mayAdd: readonly string[],
): void {
  for (const type of ALWAYS_TRUE) {
    const [now, before] = [ofType(object, type), ofType(old, type)];
    if (isDeepStrictEqual(now, before)) continue;
    if (now.length < before.length) {
      errors.forbidden(
        'status.conditions',
        `updates may not remove a condition of type ${JSON.stringify(type)}`,
      );
    } else if (before.length === 0 && !mayAdd.includes(type)) {
      errors.forbidden(
        'status.conditions',
        `updates may not add a condition of type ${JSON.stringify(type)}`,
      );
    }
  }
}

function isCertificates(pem: string): boolean {
  const blocks = parsePem(pem);
  if (blocks.length === 0 || blocks.some(({ label }) => label !== 'CERTIFICATE')) return false;
  try {
    return blocks.every(({ der }) => new X509Certificate(der).serialNumber !== '');
  } catch {
    // Any parse error makes the certificate invalid.
    return false;
  }
}

function validateCertificate(errors: FieldErrors, object: Request, old: Request): void {
  const [certificate = '', before = ''] = [object.status?.certificate, old.status?.certificate];
  if (certificate === before) return;
  if (before !== '')
    errors.forbidden('status.certificate', 'updates may not change a certificate that is set');
  else if (!isCertificates(decode64(certificate))) {
    errors.invalid('status.certificate', '<certificate data>', 'must be certificates in PEM form');
  }
}

/** Sets the missing times of conditions. */
function stampConditions(draft: Mutable<Request>, old: Request, nowMs: number): void {
  const now = formatTime(nowMs);
  for (const condition of draft.status?.conditions ?? []) {
    const before = conditionsOf(old).find(({ type }) => type === condition.type);
    condition.lastUpdateTime ??= now;
    const since = before?.status === condition.status ? before.lastTransitionTime : undefined;
    condition.lastTransitionTime ??= since ?? now;
  }
}

/** Through approval only conditions change, through the status everything but decisions. */
function keepStatusButConditions(draft: Mutable<Request>, old: Request): void {
  const { conditions: _, ...others } = old.status ?? {};
  const { conditions } = draft.status ?? {};
  draft.status = { ...others, ...(conditions && { conditions }) };
}

function conditionCell(object: Request): string {
  const types = conditionsOf(object).map(({ type }) => type);
  const decided = ['Approved', 'Denied', 'Failed'].filter((type) => types.includes(type));
  const issued = (object.status?.certificate ?? '') === '' ? [] : ['Issued'];
  return decided.length === 0 && issued.length === 0 ? 'Pending' : [...decided, ...issued].join(',');
}

export const certificateSigningRequest: KindEntry = {
  strategy: kindStrategy<Request>({
    nameErrors: pathSegmentErrors,
    countsGeneration: false,
    prepareForCreate(draft, { user }) {
      for (const member of REQUESTOR) delete draft.spec[member];
      Object.assign(draft.spec, {
        username: user.name,
        ...(user.uid !== undefined && user.uid !== '' && { uid: user.uid }),
        ...(user.groups.length > 0 && { groups: [...user.groups] }),
        ...(Object.keys(user.extra).length > 0 && { extra: structuredClone(user.extra) }),
      });
      draft.status = {};
    },
    prepareForUpdate: (draft, old) => {
      Object.assign(draft, { spec: structuredClone(old.spec) });
    },
    validateCreate: (errors, { spec }, context) => validateSpec(errors, spec, context),
    selectableFields: { 'spec.signerName': ({ spec }) => spec.signerName },
    row: (object, { nowMs }) => [
      object.metadata?.name ?? '',
      ageOf(object, nowMs),
      object.spec.signerName,
      object.spec.username ?? '',
      conditionCell(object),
    ],
  }),
  parts: {
    approval: statusPart<Request>({
      prepare(draft, old, { nowMs }) {
        keepStatusButConditions(draft, old);
        stampConditions(draft, old, nowMs);
      },
      validate(errors, object, old) {
        validateConditions(errors, conditionsOf(object));
        validateDecisions(errors, object, old, DECISIONS);
      },
    }),
    status: statusPart<Request>({
      prepare: (draft, old, { nowMs }) => stampConditions(draft, old, nowMs),
      validate(errors, object, old) {
        validateConditions(errors, conditionsOf(object));
        validateDecisions(errors, object, old, ['Failed']);
        validateCertificate(errors, object, old);
      },
    }),
  },
};
