/// What an evaluation on values needs of a function's row.
struct FunctionEvaluation: Sendable {
  let form: FunctionForm
  let traits: FunctionTraits

  /// Whether the function has a result for MISSING.
  var takesMissing: Bool {
    switch form {
    case .lazy, .optional, .optionals: true
    case .values, .text, .texts, .array, .object, .date: false
    }
  }
}
