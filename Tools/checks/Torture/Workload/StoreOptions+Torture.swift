import DocStore

extension StoreOptions {
  /// Silent, and with so few recent ids that stores as small as these have others too.
  static var silent: StoreOptions {
    var options = StoreOptions(log: { _, _ in })
    options.recentIDs = 24
    return options
  }
}
