/** Signs approved requests of the built-in signers with their CAs, or records why a request is
 *  rejected. Source: built-in signers, document 2 §2.5 and §3. */

import { X509Certificate } from 'node:crypto';
import type { Identity } from '#api/pki/certificate.ts';
import { certificateUsages, signerKind } from '../../resources/groups/certificates/signers.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import { decideSigning, decideTerm, type ReadRequest } from './decide.ts';
import { addCondition, followRequests } from './follow-requests.ts';

/** Condition reason of a request that the signer rejects. */
const REJECTED = 'SignerValidationFailure';

interface Order extends ReadRequest {
  readonly usages: readonly string[];
  readonly expirationSeconds: number | undefined;
}

/** Returns the certificate as PEM. @throws Error if the CA itself has expired */
export async function signRequest(
  { authority, longestMs }: { readonly authority: Identity; readonly longestMs: number },
  { request, content, usages, expirationSeconds }: Order,
  nowMs: number,
): Promise<string> {
  const authorityEndMs = Date.parse(new X509Certificate(authority.certificate).validTo);
  if (authorityEndMs <= nowMs) throw new Error('the certificate of the signing CA has expired');
  const { issueCertificate } = await import('#api/pki/certificate.ts');
  const { commonName, organizations, others, dnsNames, ipAddresses, emailAddresses, uris } = content;
  return issueCertificate(authority, {
    subject: { commonName, organizations, others },
    publicKey: request.publicKey,
    dnsNames,
    ipAddresses,
    emailAddresses,
    uris,
    ...certificateUsages(usages),
    ...decideTerm({ nowMs, expirationSeconds, longestMs, authorityEndMs }),
  });
}

export const certificateSigner: Controller = defineController({
  name: 'csrsigning',
  identity: 'certificate-signer',
  watches: ['certificatesigningrequests'],
  writes: { certificatesigningrequests: { status: ['status.certificate', 'status.conditions'] } },
  ownFieldManager: true,
  workers: 4,
  start(context) {
    const { clock, log, vocabulary, settings } = context;
    return followRequests(context, {
      async work(name, object, { change }) {
        const decision = decideSigning(object, vocabulary);
        const kind = signerKind(object.spec.signerName, vocabulary);
        const authority = kind === undefined ? undefined : settings.signing.authorityOf(kind);
        if (decision.kind === 'leave' || authority === undefined) return undefined;
        if (decision.kind === 'reject') {
          log.info(
            { request: name, why: decision.message },
            'Certificate signing request rejected by its signer',
          );
          await change(name, 'status', (draft) => {
            if (decideSigning(draft, vocabulary).kind !== 'reject') return;
            addCondition(draft, { type: 'Failed', reason: REJECTED, message: decision.message });
          });
          return undefined;
        }
        const { usages = [], expirationSeconds, signerName } = object.spec;
        const pem = await signRequest(
          { authority, longestMs: settings.signing.longestMs },
          { ...decision, usages, expirationSeconds },
          clock.now(),
        );
        await change(name, 'status', (draft) => {
          if (decideSigning(draft, vocabulary).kind !== 'sign') return;
          draft.status = { ...draft.status, certificate: Buffer.from(pem).toString('base64') };
        });
        log.info({ request: name, signer: signerName }, 'Certificate signed');
        return undefined;
      },
      onError: (name, err) =>
        log.warn({ err, request: name }, 'Failed to sign certificate signing request; retrying'),
    });
  },
});
