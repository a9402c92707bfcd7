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
    let given = families.flatMap { $0 }
    return Function.allCases.enumerated().map { index, function in
      let rows = given.filter { $0.function == function }
      guard let row = rows.first, rows.count == 1, function.ordinal == index else {
        preconditionFailure("the function '\(function.rawValue)' has \(rows.count) rows, and must have one")
      }
      return row
    }
  }()

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
  @inline(__always)
  var definition: FunctionDefinition { FunctionTable.definitions[ordinal] }

  /// The place among all functions, from zero.
  @inline(__always)
  var ordinal: Int {
    // SAFETY: an enumeration of fewer than 257 cases without values is one byte, the number of the case. The
    // table compares this number with the place among all cases.
    Int(unsafe unsafeBitCast(self, to: UInt8.self))
  }
}
