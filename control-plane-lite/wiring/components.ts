/** Component health for `componentstatuses`. Components run in this process, or in the one that holds their
 *  Lease: another server of the same store, or a program of its own. */
import type { Lease } from '#api/gen/coordination-v1.ts';
import { managerName } from '../controllers/workloads-kit/deps.ts';
import type { Component } from '../endpoints/components.ts';
import { typed } from '../resources/view.ts';
import type { Core } from './core.ts';

/** Upstream's default lease duration; a Lease specifies its own. */
const LEASE_SECONDS = 15;

/** @throws Error unless the Lease has been renewed in time */
function checkLease({ cache, registry, clock, vocabulary }: Core, name: string): void {
  const leases = registry.find(`coordination.${vocabulary.apiGroupDomain}`, 'v1', 'leases');
  const found = leases && cache.resource(leases.storage).get(`${vocabulary.systemNamespace}/${name}`);
  if (found === undefined) {
    throw new Error(
      `not run by this server, and the following Lease does not exist: ${vocabulary.systemNamespace}/${name}`,
    );
  }
  const { renewTime = '', leaseDurationSeconds = LEASE_SECONDS } = typed<Lease>(found.object()).spec ?? {};
  const atMs = Date.parse(renewTime);
  if (!(clock.now() - atMs <= leaseDurationSeconds * 1000)) {
    throw new Error(
      `the Lease ${vocabulary.systemNamespace}/${name} was last renewed at ${renewTime || 'an unknown time'}`,
    );
  }
}

export function createComponents(core: Core, isReady: () => boolean): readonly Component[] {
  const { config, vocabulary, store } = core;
  /** A server that shares its store is active only while it leads, as its Lease shows. */
  const shares = config.etcdServers.length > 0;
  const component = (name: string, runsHere: boolean, lease: string): Component => ({
    name,
    check() {
      if (!runsHere || shares) checkLease(core, lease);
      else if (!isReady()) throw new Error('the server is starting');
      return 'ok';
    },
  });
  return [
    component('scheduler', config.scheduler, `${vocabulary.componentPrefix}-scheduler`),
    component('controller-manager', core.controllers.size > 0, managerName(vocabulary)),
    {
      name: 'etcd-0',
      async check() {
        await store.currentRevision();
        return '{"health":"true","reason":""}';
      },
    },
  ];
}
