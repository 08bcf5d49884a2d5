/** Table of the controllers, one row each. Sorted by name. */
import { attachDetachController } from './attach-detach/controller.ts';
import { bootstrapSigner } from './bootstrap/signer.ts';
import { tokenCleaner } from './bootstrap/token-cleaner.ts';
import { certificateApprover } from './certificates/approver.ts';
import { certificateCleaner } from './certificates/cleaner.ts';
import { certificateSigner } from './certificates/signer.ts';
import { clusterRoleAggregation } from './cluster-role-aggregation.ts';
import { cronJobController } from './cron-job/controller.ts';
import { daemonSetController } from './daemon-set/controller.ts';
import { deploymentController } from './deployment/controller.ts';
import { disruptionController } from './disruption/controller.ts';
import { endpointSliceMirroringController } from './endpoint-slice-mirroring/controller.ts';
import { ephemeralVolumeController } from './ephemeral-volume/controller.ts';
import { expiryController } from './expiry.ts';
import { garbageCollector } from './garbage-collector/collector.ts';
import { horizontalPodAutoscalerController } from './horizontal-pod-autoscaler/controller.ts';
import { jobController } from './job/controller.ts';
import { localProvisionerController } from './local-provisioner/controller.ts';
import { namespaceController } from './namespaces/controller.ts';
import { nodeIpamController } from './node-ipam/controller.ts';
import { nodeLifecycleController } from './node-lifecycle/controller.ts';
import { volumeBinderController } from './persistentvolume-binder/controller.ts';
import { volumeExpanderController } from './persistentvolume-expander/controller.ts';
import { podGcController } from './pod-gc/controller.ts';
import { replicaSetController, replicationController } from './replica-set/controller.ts';
import { resourceQuotaController } from './resourcequota/controller.ts';
import { rootCaPublisher } from './root-ca/publisher.ts';
import { serviceAccountController } from './service-accounts/default-account.ts';
import { tokensController } from './service-accounts/tokens.ts';
import { endpointsController } from './service-backends/endpoints-controller.ts';
import { endpointSliceController } from './service-backends/slices-controller.ts';
import type { Controller } from './skeleton/declaration.ts';
import { statefulSetController } from './stateful-set/controller.ts';
import { ttlAfterFinishedController } from './ttl-after-finished/controller.ts';
import { claimProtectionController, volumeProtectionController } from './volume-protection/controller.ts';

/** Controllers that `--controllers` selects. */
export const CONTROLLERS: readonly Controller[] = [
  attachDetachController,
  bootstrapSigner,
  clusterRoleAggregation,
  cronJobController,
  certificateApprover,
  certificateCleaner,
  certificateSigner,
  daemonSetController,
  deploymentController,
  disruptionController,
  endpointsController,
  endpointSliceController,
  endpointSliceMirroringController,
  ephemeralVolumeController,
  garbageCollector,
  horizontalPodAutoscalerController,
  jobController,
  localProvisionerController,
  namespaceController,
  nodeIpamController,
  nodeLifecycleController,
  volumeBinderController,
  volumeExpanderController,
  podGcController,
  volumeProtectionController,
  claimProtectionController,
  replicaSetController,
  replicationController,
  resourceQuotaController,
  rootCaPublisher,
  serviceAccountController,
  tokensController,
  statefulSetController,
  tokenCleaner,
  ttlAfterFinishedController,
];

/** Controllers that always run. */
export const PERMANENT_CONTROLLERS: readonly Controller[] = [expiryController];
