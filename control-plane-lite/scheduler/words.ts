/** The words that the scheduler's decisions depend on, in a vocabulary. */
import type { Vocabulary } from '#api/vocabulary.ts';
import type { SchedulerWords } from './model.ts';

export function schedulerWords({ domain, labelHostname }: Vocabulary): SchedulerWords {
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
