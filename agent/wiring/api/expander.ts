/** Wires the node expansion of volumes with claims of the API server. */

import { type Expander } from '#volumes/contract/expansion.ts';
import { createExpander } from '#volumes/expansion/expander.ts';
import type { ApiClient } from '../../api-client/client.ts';
import { featureEnabled } from '../../config/feature-gates.ts';
import { createExpansionReports } from '../../pods-api/expansion-reports.ts';
import type { Base } from '../base.ts';

export function createApiExpander(
  { config, events, log, node }: Base,
  client: Pick<ApiClient, 'patch'>,
  stop: AbortSignal,
): Expander {
  const reportsProgress = featureEnabled(config, 'RecoverVolumeExpansionFailure');
  const reports = createExpansionReports({ client, events, log, node, reportsProgress, stop });
  return createExpander({ reports, log });
}
