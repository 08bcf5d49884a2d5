/** What lets volumes of the API server's claims grow on the node, wired together. */
import { createExpander, type Expander } from '#volumes/expansion/expander.ts';
import type { ApiClient } from '../api-client/client.ts';
import { featureEnabled } from '../config/feature-gates.ts';
import { createExpansionReports } from '../pods-api/expansion-reports.ts';
import type { Base } from './base.ts';

export function createApiExpander(
  { config, events, log, node }: Base,
  client: Pick<ApiClient, 'patch'>,
  stop: AbortSignal,
): Expander {
  const tellsProgress = featureEnabled(config, 'RecoverVolumeExpansionFailure');
  const reports = createExpansionReports({ client, events, log, node, tellsProgress, stop });
  return createExpander({ reports, log });
}
