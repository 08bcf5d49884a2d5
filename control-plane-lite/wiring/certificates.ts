/** The controllers of requests for certificates, on the server's own authority. */
import type { Identity } from '#api/pki/certificate.ts';
import { runApprover } from '../controllers/certificates/approver.ts';
import { runCleaner } from '../controllers/certificates/cleaner.ts';
import type { RequestControllerDeps } from '../controllers/certificates/follow-requests.ts';
import { runSigner } from '../controllers/certificates/signer.ts';
import type { Core } from './core.ts';

/** Works until the signal fires. */
export async function runCertificates(core: Core, authority: Identity, signal: AbortSignal): Promise<void> {
  const { registry, cache, verbs, clock, vocabulary, access, config, controllers } = core;
  const deps = (controller: string): RequestControllerDeps => ({
    registry,
    cache,
    verbs,
    clock,
    vocabulary,
    log: core.log.child({ controller }),
  });
  const options = { authority, longestMs: config.clusterSigningDuration };
  await Promise.all([
    controllers.has('csrapproving') &&
      runApprover({ ...deps('certificate-approver'), authorizer: access.authorizer }, signal),
    controllers.has('csrsigning') && runSigner(deps('certificate-signer'), options, signal),
    controllers.has('csrcleaner') && runCleaner(deps('certificate-cleaner'), signal),
  ]);
}
