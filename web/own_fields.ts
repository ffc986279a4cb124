// Fields of our own objects that the build gives names of a letter or two. They are in no JSON (which is
// read by quoted names: those stay), belong to no browser object, and are never reached by a computed name.
// tests/unit/size.test.ts looks for texts of the same spelling, which would be such names.
export const kOwnFields = `
  accent added badge bands begin below_ns bucket_ns caption colour colours columns counters cover dash depth
  end_ns facts folded hover icon initial kinds lane layout line lines links longest marks members metrics most
  moved names note page paint palette panel parts peek pick pinned pinned_height place ranging refs removed
  selection shares shown soft sources summarised tell track tracks View wanted
  alerts alive eta_seconds last_stage readings stage_seconds step_seconds steps_done steps_total thinned
`
  .trim()
  .split(/\s+/);
