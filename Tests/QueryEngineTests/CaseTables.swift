import QueryEngine

/// What is known about cases besides what their files say.
enum CaseTables {
  /// Given cases of what this engine does not do, each with the reason.
  static let skipped: [String: String] = [
    "D31": "a document above the hard limit is stored and never sent: our choice",
    "E30": "strict mode", "E31": "strict mode", "G01": "strict mode",
    "G11": "strict mode",
    "K10": "told in prose: MergeStoryTests", "K18": "told in prose: MergeStoryTests",
    "K22": "told in prose: MergeStoryTests", "K24": "told in prose: MergeStoryTests",
    "L27": "told in prose: CaseStoryTests", "L29": "told in prose: CaseStoryTests",
    "L31": "told in prose: CaseStoryTests", "L32": "told in prose: CaseStoryTests",
    "L34": "told in prose: CaseStoryTests", "M03": "the big peer's", "M08": "the big peer's",
    "M09": "the big peer's",
    "M10": "the big peer's", "M11": "the big peer's",
  ]

  /// Cases that fail, each with what is wrong; a case that passes has to go.
  static let known: [String: String] = [
    "own-ix2-31": "covering scans", "own-ix2-48": "indexes of parts of ids",
    "own-ix2-57": "ADVISE of INSERT with a query",
  ]

  /// The errors of the given cases, in the words of the reference product where we use them.
  static let causes: [String: Cause] = [
    "A09": Cause(.syntax, "unqualified * with other projection elements is not supported"),
    "A38": Cause(.syntax, "identifier"), "B137": Cause(.syntax, "a doubled quote is no escape"),
    "C17": Cause(.syntax, "must depend only on group keys or aggregates"),
    "D08": Cause(.conflict, "using FAIL conflict policy"),
    "E15": Cause(.syntax, "more than one modification specified for the path"),
    "E24": Cause(.argument, "to be an integer value"),
    "E25": Cause(.syntax, "Missing SET and/or UNSET clause"),
    "F16": Cause(.syntax, "expected INDEX, found 'COLLECTION'"),
    "G03": Cause(.unknownParameter, "unknown parameter 'no_such_thing'"),
    "G16": Cause(.syntax, "expected"),
    "H05": Cause(.unsupported, "disallowed without appropriate index support"),
    "H09": Cause(.syntax, "Ambiguous reference to field: name"),
    "H13": Cause(.syntax, "expected"),
    "H14": Cause(.unsupported, "RIGHT OUTER join that isn't the first join is not supported"),
    "I03": Cause(.unsupported, "Unsupported feature: A projection other than wildcard (*)"),
    "I05": Cause(.unsupported, "Unsupported feature: DISTINCT"),
    "I11": Cause(.unsupported, "Unsupported feature: A projection other than wildcard (*)"),
    "I12": Cause(.unsupported, "only SELECT"), "L17": Cause(.syntax, "query compilation failed"),
  ]

  /// Features that our own cases may need.
  static let features: Set<String> = [
    "advise", "aggregates", "arrayFor", "arrow", "collate", "compound", "dates",
    "directives", "exists", "groups", "having", "hints", "indexes", "insertSelect", "intervals", "inQuery",
    "joins",
    "mathematics", "objectFor", "parameters", "profile", "quantified", "regexp", "requestInfo", "returning",
    "similar", "star", "systemCollections", "tombstone", "trimSides", "types", "without",
  ]

  /// Features that are not there yet, each with an example that is refused by name.
  static let missing: [String: String] = [:]
}
