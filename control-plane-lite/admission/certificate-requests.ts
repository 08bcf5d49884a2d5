/** Admission of certificate signing requests: authorization to approve and to sign, and forbidden subjects.
 *  Source: certificates, document 2 §2.5 and §5.10; upstream's plugins CertificateApproval,
 *  CertificateSigning and CertificateSubjectRestriction. */
import { isDeepStrictEqual } from 'node:util';
import type { CertificateSigningRequest } from '#api/gen/certificates-v1.ts';
import { forbidden } from '#api/meta/status-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { MASTERS_GROUP } from '../authn/users.ts';
import type { Authorizer } from '../authz/contract.ts';
import type { ApiObject } from '../resources/contract.ts';
import {
  CertificateRequestError,
  parseCertificateRequest,
} from '../resources/groups/certificates/certificate-request.ts';
import { readRequestContent } from '../resources/groups/certificates/request-content.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';

export interface CertificateAdmissionDeps {
  readonly authorizer: Pick<Authorizer, 'authorize'>;
  readonly vocabulary: Vocabulary;
}

const PLURAL = 'certificatesigningrequests';

const view = (object: ApiObject | undefined): CertificateSigningRequest | undefined =>
  object === undefined ? undefined : typed<CertificateSigningRequest>(object);

/** In the order in which they are to be listed. */
export function createCertificateAdmission(deps: CertificateAdmissionDeps): readonly AdmissionPlugin[] {
  const { authorizer, vocabulary } = deps;
  const group = `certificates.${vocabulary.apiGroupDomain}`;

  const concerns = ({ resource, subresource }: AdmissionRequest, part: string): boolean =>
    resource.info.group === group && resource.info.plural === PLURAL && subresource === part;

  async function may({ user }: AdmissionRequest, verb: string, signer: string): Promise<boolean> {
    const { effect } = await authorizer.authorize({
      user,
      verb,
      isResource: true,
      group,
      version: '*',
      resource: 'signers',
      subresource: '',
      namespace: '',
      name: signer,
      path: '',
    });
    return effect === 'allow';
  }

  /** By the signer's own name, or by that of all signers of its domain. */
  async function requireRight(request: AdmissionRequest, verb: string): Promise<void> {
    const signer = view(request.old)?.spec.signerName ?? '';
    const [domain = ''] = signer.split('/');
    if ((await may(request, verb, signer)) || (await may(request, verb, `${domain}/*`))) return;
    const why = `user not permitted to ${verb} requests with signerName ${JSON.stringify(signer)}`;
    throw forbidden({ group, name: PLURAL }, request.name, why);
  }

  return [
    {
      name: 'CertificateApproval',
      operations: ['UPDATE'],
      async validate(request) {
        if (concerns(request, 'approval')) await requireRight(request, 'approve');
      },
    },
    {
      name: 'CertificateSigning',
      operations: ['UPDATE'],
      async validate(request) {
        if (!concerns(request, 'status')) return;
        const [now, before] = [view(request.object)?.status, view(request.old)?.status];
        const same =
          now?.certificate === before?.certificate &&
          isDeepStrictEqual(now?.conditions ?? [], before?.conditions ?? []);
        if (!same) await requireRight(request, 'sign');
      },
    },
    {
      name: 'CertificateSubjectRestriction',
      operations: ['CREATE'],
      validate(request) {
        if (!concerns(request, '')) return;
        const spec = view(request.object)?.spec;
        if (spec?.signerName !== `${vocabulary.domain}/${vocabulary.apiServerClientSigner}`) return;
        if (!organizationsOf(spec.request).includes(MASTERS_GROUP)) return;
        const why = `use of ${spec.signerName} signer with ${MASTERS_GROUP} group is not allowed`;
        throw forbidden({ group, name: PLURAL }, request.name, why);
      },
    },
  ];
}

/** Returns none for a malformed request, which is never signed. */
function organizationsOf(request: string): readonly string[] {
  try {
    const pem = Buffer.from(request, 'base64').toString('latin1');
    return readRequestContent(parseCertificateRequest(pem)).organizations;
  } catch (error) {
    if (!(error instanceof CertificateRequestError)) throw error;
    return [];
  }
}
