import CRDTCore

/// The rows of all functions.
enum FunctionTable {
  /// One row a function, at its ordinal number.
  static let definitions: [FunctionDefinition] = {
    let families: [[FunctionDefinition]] = [
      FunctionDefinition.numbers, FunctionDefinition.strings, FunctionDefinition.arrays,
      FunctionDefinition.objects, FunctionDefinition.types, FunctionDefinition.conditions,
      FunctionDefinition.dates,
    ]
    var rows = [FunctionDefinition?](repeating: nil, count: Function.allCases.count)
    for family in families {
      for row in family {
        precondition(
          rows[row.function.ordinal] == nil, "the function '\(row.function.rawValue)' has two rows")
        rows[row.function.ordinal] = row
      }
    }
    return zip(Function.allCases, rows).map { function, row in
      guard let row else { preconditionFailure("the function '\(function.rawValue)' has no row") }
      return row
    }
  }()

  /// What an evaluation needs of each row, without the lists of the row, whose references it would count.
  static let evaluations: [FunctionEvaluation] = definitions.map {
    FunctionEvaluation(form: $0.form, traits: $0.traits)
  }

  /// The functions by the names that a call in DQL has.
  static let named: [TextKey: Function] = {
    var named: [TextKey: Function] = [:]
    for row in definitions where !row.traits.contains(.isOperator) {
      for name in [row.function.rawValue] + row.aliases {
        let other = named.updateValue(row.function, forKey: TextKey(name))
        precondition(other == nil, "two functions have the name '\(name)'")
      }
    }
    return named
  }()
}

extension Function {
  /// The row of this function.
  var definition: FunctionDefinition { FunctionTable.definitions[ordinal] }

  /// What an evaluation needs of the row of this function.
  @inline(__always)
  var evaluation: FunctionEvaluation { FunctionTable.evaluations[ordinal] }

  /// The place among all functions, from zero.
  @inline(__always)
  var ordinal: Int {
    // SAFETY: an enumeration of fewer than 257 cases without values is one byte, the number of the case.
    Int(unsafe unsafeBitCast(self, to: UInt8.self))
  }
}
