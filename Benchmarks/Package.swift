// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("ImmutableWeakCaptures"),
  .enableExperimentalFeature("Lifetimes"),
]

func dunlin(_ product: String) -> Target.Dependency { .product(name: product, package: "dunlin") }

// A package of its own, so that whoever uses the library neither fetches nor builds it.
let package = Package(
  name: "dunlin-benchmarks",
  platforms: [.macOS(.v26)],
  products: [.executable(name: "replication", targets: ["Replication"])],
  dependencies: [
    .package(name: "dunlin", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
  ],
  targets: [
    .executableTarget(
      name: "Replication",
      dependencies: [
        dunlin("CRDTCore"), dunlin("DocStore"), dunlin("QueryEngine"), dunlin("SyncProtocol"),
        dunlin("ScopePolicy"), dunlin("Transports"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Replication", swiftSettings: settings)
  ]
)
