/** Wires the sources of desired pods. */
import { join } from 'node:path';
import { featureEnabled } from '../../config/feature-gates.ts';
import { type AppliedStore, createAppliedStore } from '../../sources/applied/applied.ts';
import { createSources } from '../../sources/create-sources.ts';
import { createSourceManager, type SourceManager } from '../../sources/manager.ts';
import { createManifestReader } from '../../sources/manifest-set.ts';
import { createSourceReporter, type SourceReporter } from '../../sources/report.ts';
import { AGENT_VERSION } from '../../version.ts';
import type { Base } from '../base.ts';
import type { ServerParts } from '../server-parts.ts';

interface PodSources {
  readonly applied: AppliedStore;
  readonly sources: SourceManager;
  readonly report: SourceReporter;
}

export function createPodSources(base: Base, server: ServerParts | undefined): PodSources {
  const { config, vocabulary, clock, log, node } = base;
  const { rootDir } = config;
  const userAgent = `${vocabulary.agentComponent}/${AGENT_VERSION}`;
  const readManifests = createManifestReader({
    clock,
    nodeName: node,
    vocabulary,
    expandedDNSConfig: featureEnabled(config, 'ExpandedDNSConfig'),
    downwardAPIHugePages: featureEnabled(config, 'DownwardAPIHugePages'),
  });
  const applied = createAppliedStore({
    clock,
    log,
    nodeName: node,
    vocabulary,
    dir: join(rootDir, 'applied'),
  });
  const sources = createSourceManager({
    sources: [
      ...createSources({ clock, log, waits: base.waits, userAgent }, readManifests, config),
      applied,
      ...(server === undefined ? [] : [server.source]),
    ],
    clock,
    log,
  });
  const report = createSourceReporter({
    log,
    node,
    event: (involved, type, reason, message) => base.events.event(involved, type, reason, message),
  });
  return { applied, sources, report };
}
