/// The row of one function: all that the parser, the evaluator and programs on records know of it.
///
/// Each family of functions has an array of rows, beside the code that evaluates them.
struct FunctionDefinition: Sendable {
  let function: Function
  /// The other names of the function in DQL; the first name is the raw value of the function.
  let aliases: [String]
  /// The type of each argument; the last one is for all further arguments.
  let operandTypes: [OperandType]
  /// The number of arguments of a call; `.max` means any number.
  let arity: ClosedRange<Int>
  let traits: FunctionTraits
  /// How it is evaluated on values.
  let form: FunctionForm
  /// The operation of a program on records in place, with the results that `form` has.
  let inPlace: ScalarNode.Operation

  /// - Parameters:
  ///   - function: The function; its raw value is its name in DQL and in subscriptions.
  ///   - aliases: Other names in DQL, in lower case.
  ///   - operandTypes: The type of each argument; the last one is for all further arguments.
  ///   - arity: The number of arguments; by default one for each of `operandTypes`.
  ///   - traits: How it differs from most functions.
  ///   - inPlace: The operation of a program on records in place; a lazy form brings its own.
  ///   - form: How it is evaluated on values.
  init(
    _ function: Function, aliases: [String] = [], _ operandTypes: [OperandType],
    arity: ClosedRange<Int>? = nil, traits: FunctionTraits = [],
    inPlace: ScalarNode.Operation = .call(.onValues),
    on form: FunctionForm
  ) {
    self.function = function
    self.aliases = aliases
    self.operandTypes = operandTypes
    self.arity = arity ?? operandTypes.count...operandTypes.count
    self.traits = traits
    self.form = form
    if case .lazy(let operation, _) = form {
      self.inPlace = operation
    } else {
      self.inPlace = inPlace
    }
  }
}
