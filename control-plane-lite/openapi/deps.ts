/** Dependencies of the OpenAPI documents. */
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { OtherDocuments } from './others.ts';
export interface OpenApiDeps {
  readonly vocabulary: Vocabulary;
  readonly registry: Pick<ResourceRegistry, 'all' | 'generation'>;
  /** Name and version of the program. Part of the hash, so that clients refetch the documents of another version. */
  readonly product: string;
  /** Whether OpenAPI 3 is served. Default true. */
  readonly version3?: boolean;
  /** Whether schemas list the values of enumerations. Default true. */
  readonly enums?: boolean;
  /** Documents of aggregated servers. */
  readonly others?: OtherDocuments;
}
