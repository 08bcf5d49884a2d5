/** Label keys and names that scheduling decisions read, by vocabulary. */
import type { Vocabulary } from '#api/vocabulary.ts';
import type { SchedulerLabelKeys } from './model.ts';

export function schedulerLabelKeys({ domain, labelHostname }: Vocabulary): SchedulerLabelKeys {
  const zones = [`topology.${domain}/zone`, `failure-domain.beta.${domain}/zone`];
  return {
    hostname: labelHostname,
    zones,
    volumeZones: [...zones, `topology.${domain}/region`, `failure-domain.beta.${domain}/region`],
    instanceTypes: [`node.${domain}/instance-type`, `beta.${domain}/instance-type`],
    unschedulableTaint: `node.${domain}/unschedulable`,
    noProvisioner: `${domain}/no-provisioner`,
  };
}
