// A place for the history of a metric over runs; filled when runs are kept.
import { Empty, Section } from "../ui/parts";

export function TrendView() {
  return <Section title="Trend"><Empty>This file holds no history of runs yet.</Empty></Section>;
}
